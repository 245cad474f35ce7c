import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** Languages that diffs are coloured in; every other grammar of shiki is left out of the build. */
const LANGUAGES = new Set(
  ("bash c cpp csharp css diff docker go graphql html ini java javascript json jsonc jsx kotlin lua make markdown perl " +
    "php powershell python regexp ruby rust scala shellscript sql swift toml tsx typescript vue xml yaml").split(" "),
);

function fewerLanguages(): Plugin {
  const grammar = /@shikijs\/langs\/dist\/([\w-]+)\.mjs$/;
  return {
    name: "fewer-languages",
    enforce: "pre",
    load(id) {
      const name = grammar.exec(id)?.[1];
      return name === undefined || LANGUAGES.has(name) ? null : "export default []";
    },
  };
}

/**
 * The diff's parser copies every line so that none holds on to the whole text, by writing it to bytes and reading them
 * back: most of the time that a long diff takes to parse. The page keeps the text anyway, to copy and to save it.
 */
function sharedLines(): Plugin {
  return {
    name: "shared-lines",
    enforce: "pre",
    load(id) {
      if (!id.endsWith("@pierre/diffs/dist/utils/detachString.js")) return null;
      return "export const detachString = (text) => text; export const releaseStringDetachBuffer = () => {};";
    },
  };
}

export default defineConfig({
  plugins: [react(), tailwindcss(), fewerLanguages(), sharedLines()],
  worker: { format: "es", plugins: () => [fewerLanguages()] },
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: { outDir: "../src/omoi_os/web/static", emptyOutDir: true, chunkSizeWarningLimit: 1200, assetsInlineLimit: 0 },
  server: { proxy: { "/api": { target: "http://127.0.0.1:18000", ws: true }, "/sign-in": "http://127.0.0.1:18000" } },
  test: { include: ["src/**/*.test.{ts,tsx}"] },
});
