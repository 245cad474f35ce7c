/** Colours with AA contrast: the viewer's own line numbers and counts are too pale. */
export const LOOK = `
  :host {
    --diffs-font-family: var(--font-mono, monospace);
    --diffs-header-font-family: var(--font-sans, sans-serif);
    --diffs-font-features: "liga" 0, "calt" 0;
    --diffs-font-size: 12px;
    --diffs-line-height: 19px;
    --diffs-light-bg: var(--surface);
    --diffs-dark-bg: var(--surface);
    --diffs-fg-number-override: var(--text-faint);
    --diffs-fg-number-addition-override: var(--good);
    --diffs-fg-number-deletion-override: var(--bad);
    --diffs-addition-color-override: var(--good);
    --diffs-deletion-color-override: var(--bad);
    --diffs-modified-color-override: var(--info);
  }
  [data-diffs-header], [data-diffs-header][data-sticky] { background: var(--sunken); border-bottom: 1px solid var(--line); }
`;
