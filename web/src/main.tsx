import "./styles.css";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { Tooltip } from "radix-ui";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "./api/client";
import { router } from "./router";
import { syncTheme } from "./ui/theme";
import { syncTimes } from "./ui/time/time-preference";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // Ignore what the browser believes about its network: send the request and report its failure.
      networkMode: "always",
      refetchOnReconnect: true,
      staleTime: 30_000,
      retry: (failures, error) => !(error instanceof ApiError && error.status < 500) && failures < 3,
    },
    mutations: { networkMode: "always" },
  },
});

syncTheme();
syncTimes();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <Tooltip.Provider delayDuration={300}>
        <RouterProvider router={router} />
      </Tooltip.Provider>
    </QueryClientProvider>
  </StrictMode>,
);
