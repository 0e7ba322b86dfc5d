// What needs somebody now: the strip, the inbox, who works, and what waits.
import { useInbox } from "../../api";
import { Loaded, Page } from "../../ui";
import { AgentsNow } from "./AgentsNow";
import { Inbox } from "./Inbox";
import { LanesNow } from "./LanesNow";
import styles from "./Now.module.css";
import { Strip } from "./Strip";

export default function Now() {
  const inbox = useInbox();
  return (
    <Page title="Now">
      <Strip />
      <div className={styles.columns}>
        <section className={styles.column} aria-labelledby="inbox">
          <h2 id="inbox" className={styles.heading}>
            Needs you
          </h2>
          <Loaded of={inbox} height={140}>
            {(questions) => <Inbox questions={questions} />}
          </Loaded>
        </section>
        <div className={styles.column}>
          <AgentsNow />
          <LanesNow />
        </div>
      </div>
    </Page>
  );
}
