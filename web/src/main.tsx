import "./styles/global.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { client, router } from "./app";
import { applyTheme } from "./shell/theme";
import { ConfirmProvider, Toasts, TooltipProvider } from "./ui";

applyTheme();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <TooltipProvider>
        <ConfirmProvider>
          <RouterProvider router={router} />
        </ConfirmProvider>
        <Toasts />
      </TooltipProvider>
    </QueryClientProvider>
  </StrictMode>,
);
