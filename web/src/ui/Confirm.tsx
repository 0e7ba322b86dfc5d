// "Are you sure?", asked by a promise: `if (await confirm({ title: "Cancel 3 tasks?", action: "Cancel them", danger: true }))`.
import { createContext, type ReactNode, useCallback, useContext, useState } from "react";
import { Button } from "./Button";
import { Dialog } from "./Dialog";

type Question = { title: ReactNode; body?: ReactNode; action: string; danger?: boolean };
type Asked = Question & { answer: (yes: boolean) => void };
type Confirm = (question: Question) => Promise<boolean>;

const Context = createContext<Confirm>(async () => false);

export const useConfirm = () => useContext(Context);

export function ConfirmProvider({ children }: { children: ReactNode }) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const confirm = useCallback<Confirm>((question) => new Promise((answer) => setAsked({ ...question, answer })), []);
  const close = (yes: boolean) => {
    asked?.answer(yes);
    setAsked(null);
  };
  return (
    <Context.Provider value={confirm}>
      {children}
      {asked && (
        <Dialog
          open
          onClose={() => close(false)}
          title={asked.title}
          about={asked.body}
          actions={
            <>
              <Button onClick={() => close(false)}>Back</Button>
              <Button look={asked.danger ? "danger" : "primary"} onClick={() => close(true)}>
                {asked.action}
              </Button>
            </>
          }
        />
      )}
    </Context.Provider>
  );
}
