import { api, call } from "../../api";

/** It takes work again: registered as what it was. */
export const takeWorkAgain = (agent: string) =>
  call(api.PUT("/v1/agents/{agent}", { params: { path: { agent } }, body: { keep: true } }));

/** It gets nothing new, and keeps what it holds. */
export const drain = (agent: string) => call(api.POST("/v1/agents/{agent}/drain", { params: { path: { agent } } }));
