export type Theme = "light" | "dark";

export function currentTheme(): Theme {
  return document.documentElement.dataset.theme === "dark" ? "dark" : "light";
}

/** Chosen once, kept in this browser; index.html sets it before the first paint. */
export function chooseTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("theme", theme);
  dispatchEvent(new Event("themechange"));
}
