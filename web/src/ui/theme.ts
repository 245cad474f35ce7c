export type Theme = "light" | "dark";

export function currentTheme(): Theme {
  return document.documentElement.dataset.theme === "dark" ? "dark" : "light";
}

/** Chosen in one tab, it is the theme of all tabs of this browser. */
export function syncTheme(): void {
  addEventListener("storage", ({ key, newValue }) => {
    if (key === "theme" && (newValue === "light" || newValue === "dark")) show(newValue);
  });
}

/** Chosen once, kept in this browser; index.html sets it before the first paint. */
export function setTheme(theme: Theme): void {
  localStorage.setItem("theme", theme);
  show(theme);
}

function show(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event("themechange"));
}
