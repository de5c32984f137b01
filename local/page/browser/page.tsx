import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { CallForm, CallReport, State } from '../messages.ts';
import { Answer, type Shown } from './answer.tsx';
import { Board } from './board.tsx';
import { Incidents, Messages, Requests } from './happened.tsx';
import { clock } from './parts.tsx';

/** Renders every value as text. Nothing here writes HTML. */
function Page() {
  const { state, seenAt, hasEnded, changes, look } = useBroker();
  const [said, say] = useState('');
  const [shown, show] = useState<Shown>();
  const [asked, setAsked] = useState<CallForm>();
  const latest = useRef<CallForm | undefined>(undefined);

  async function ask(form: CallForm): Promise<void> {
    latest.current = form;
    setAsked(form);
    say('');
    const report = await post<CallReport>('/call', form);
    // Ignores a late answer to an earlier request.
    if (form !== latest.current) return;
    setAsked(undefined);
    say(report.message ?? '');
    if (report.way === undefined) return;
    show({ form, report });
  }

  async function order(path: string, form: object): Promise<string | undefined> {
    const { message, says } = await post<{ readonly says?: string }>(path, form);
    await look();
    return message ?? says;
  }

  return (
    <>
      <header>
        <h1>Token broker on this machine</h1>
        {!hasEnded && <p role="status">{state ? 'live' : 'connecting'}</p>}
        <small>{state?.saved}</small>
        <small role="status" title={changes}>
          {changes}
        </small>
      </header>
      <main>
        {hasEnded && (
          <section role="alert">
            <strong class="bad">npm start has ended.{state && ` The page shows the state of ${clock(seenAt)}.`}</strong>
          </section>
        )}
        <fieldset class="page" disabled={hasEnded}>
          {state && (
            <>
              <div>
                <Board state={state} chosen={asked ?? shown?.form} ask={ask} />
                <Incidents {...state} order={order} />
                <Messages messages={state.messages} order={order} />
              </div>
              <div>
                <Answer asked={asked} said={said} shown={shown} ask={ask} />
                <Requests requests={state.requests} />
              </div>
            </>
          )}
        </fieldset>
      </main>
    </>
  );
}

/** Polls the broker, so that actions of other terminals show within two seconds. */
function useBroker() {
  const [seen, setSeen] = useState<{ state?: State; seenAt: number; changes: string }>({ seenAt: 0, changes: '' });
  const [hasEnded, setEnded] = useState(false);
  const read = async () => {
    const state: State = await (await fetch('/state')).json();
    setSeen(({ state: previous = state, changes }) => {
      return { state, seenAt: Date.now(), changes: changesIn(state, previous) || changes };
    });
  };
  const look = async () => setEnded(await read().then(Boolean, () => true));
  useEffect(() => {
    const follow = () => look().then(() => setTimeout(follow, 1_000));
    follow();
  }, []);
  return { ...seen, hasEnded, look };
}

/** Returns a sentence about the cells whose word has changed. */
function changesIn(state: State, previous: State): string {
  const wordsOf = ({ clients }: State) =>
    clients.flatMap(({ name, cells }) => cells.map(({ service, word }) => `${name} on ${service} is now ${word}`));
  const known = new Set(wordsOf(previous));
  return wordsOf(state)
    .filter((words) => !known.has(words))
    .join(', ');
}

/** Returns the server's answer, or an error text in `message`. */
async function post<Answer>(path: string, form: object): Promise<Answer & { readonly message?: string }> {
  const headers = { 'content-type': 'application/json' };
  return fetch(path, { method: 'POST', headers, body: JSON.stringify(form) }).then(
    (response) => response.json(),
    () => ({ message: 'No answer: is npm start still running?' }),
  );
}

render(<Page />, document.body);
