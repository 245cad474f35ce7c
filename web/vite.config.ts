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

export default defineConfig({
  plugins: [react(), tailwindcss(), fewerLanguages()],
  worker: { format: "es", plugins: () => [fewerLanguages()] },
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: { outDir: "../src/omoi_os/web/static", emptyOutDir: true, chunkSizeWarningLimit: 1200, assetsInlineLimit: 0 },
  server: { proxy: { "/api": { target: "http://127.0.0.1:18000", ws: true }, "/sign-in": "http://127.0.0.1:18000" } },
  test: { include: ["src/**/*.test.{ts,tsx}"] },
});
