import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { CallForm, CallReport, State } from '../messages.ts';
import { Answer, type Shown } from './answer.tsx';
import { Board } from './board.tsx';
import { Incidents, Messages, Requests } from './happened.tsx';
import { Entries } from './parts.tsx';

/** Renders every value as text. Nothing here writes HTML. */
function Page() {
  const { state, connection, look } = useBroker();
  const [said, say] = useState('');
  const [shown, show] = useState<Shown>();
  const asked = useRef<CallForm | undefined>(undefined);

  async function ask(form: CallForm): Promise<void> {
    asked.current = form;
    say('Asking …');
    const report = await post<CallReport>('/call', form);
    // Ignores a late answer to an earlier request.
    if (form !== asked.current) return;
    say(report.message ?? '');
    if (report.way === undefined) return;
    show({ form, report });
    // On a narrow page the answer is below the board, as page.css says.
    if (matchMedia('(width < 60rem)').matches) document.getElementById('answer')?.scrollIntoView();
  }

  async function order(path: string, form: object): Promise<string | undefined> {
    const { message, says } = await post<{ readonly says?: string }>(path, form);
    await look();
    return message ?? says;
  }

  return (
    <>
      <header>
        <h1>
          Token broker <small>on this machine</small>
        </h1>
        <p role="status" class={connection.replace(' ', '-')}>
          {connection}
        </p>
        <Entries entries={state.saved} kind="saved" />
      </header>
      <main>
        <Board state={state} shown={shown?.form} ask={ask} />
        <Answer said={said} shown={shown} ask={ask} />
        <Incidents stages={state.stages} order={order} />
        <div>
          <Requests requests={state.requests} />
          <Messages messages={state.messages} />
          <details>
            <summary>What is running</summary>
            <Entries entries={state.running} kind="running" />
          </details>
        </div>
      </main>
    </>
  );
}

/** Polls the broker, so that actions of other terminals show within two seconds. */
function useBroker() {
  const [state, setState] = useState(NOTHING);
  const [connection, setConnection] = useState('connecting');
  const read = async () => setState(await (await fetch('/state')).json());
  const look = () =>
    read().then(
      () => setConnection('live'),
      () => setConnection('not running'),
    );
  useEffect(() => {
    const follow = () => look().then(() => setTimeout(follow, 1_000));
    follow();
  }, []);
  return { state, connection, look };
}

const NOTHING: State = {
  ...{ callers: [], services: [], clients: [], stages: [], saved: [], requests: [], messages: [], running: [] },
};

/** Returns the server's answer, or an error text in `message`. */
async function post<Answer>(path: string, form: object): Promise<Answer & { readonly message?: string }> {
  const headers = { 'content-type': 'application/json' };
  return fetch(path, { method: 'POST', headers, body: JSON.stringify(form) }).then(
    (response) => response.json(),
    () => ({ message: 'No answer: is npm start still running?' }),
  );
}

render(<Page />, document.body);
