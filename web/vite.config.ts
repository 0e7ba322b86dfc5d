import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// What is built is served by dibs itself from src/dibs/server/web. Nothing is inlined: the pages' policy refuses scripts
// that are not files of the server.
export default defineConfig({
  plugins: [react()],
  build: {
    outDir: process.env.DIBS_WEB_OUT ?? "../src/dibs/server/web",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    target: "es2022",
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    manifest: ".vite/manifest.json",
  },
  server: {
    proxy: {
      "/v1": { target: process.env.DIBS_SERVER ?? "http://127.0.0.1:3427" },
      "/login": {
        target: process.env.DIBS_SERVER ?? "http://127.0.0.1:3427",
        bypass: (request) => (request.method === "GET" ? "/index.html" : undefined),
      },
      "/logout": { target: process.env.DIBS_SERVER ?? "http://127.0.0.1:3427" },
    },
  },
});
