// Who decides, as it is written down beside a decision: a person, by the name of their token.
import { useAbout } from "./queries";

export function useMyself(): string {
  return `human:${useAbout().data?.name ?? "unknown"}`;
}
