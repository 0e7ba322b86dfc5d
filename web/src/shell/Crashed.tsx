import { Link } from "@tanstack/react-router";
import { Empty, Failed, Page } from "../ui";

/** A screen that broke: the others still work. */
export function Crashed({ error }: { error: unknown }) {
  return (
    <Page title="This screen broke">
      <Failed error={error} title="Something went wrong on this screen" again={() => window.location.reload()} />
    </Page>
  );
}

export function NoSuchScreen() {
  return (
    <Page title="Nothing here">
      <Empty title="There is no such screen">
        Go to <Link to="/">what is happening now</Link>, or press <kbd>⌘K</kbd> or <kbd>Ctrl K</kbd>.
      </Empty>
    </Page>
  );
}
