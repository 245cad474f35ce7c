export type Theme = "light" | "dark";

export function currentTheme(): Theme {
  return document.documentElement.dataset.theme === "dark" ? "dark" : "light";
}

/** Apply a theme that was chosen in another tab. */
export function syncTheme(): void {
  addEventListener("storage", ({ key, newValue }) => {
    if (key === "theme" && (newValue === "light" || newValue === "dark")) show(newValue);
  });
}

/** Set the theme and store it in this browser; index.html applies it before the first paint. */
export function setTheme(theme: Theme): void {
  localStorage.setItem("theme", theme);
  show(theme);
}

function show(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event("themechange"));
}
