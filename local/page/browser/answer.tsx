import { useState } from 'preact/hooks';
import type { CallForm, CallReport, Station } from '../messages.ts';
import { Choice, Commands, Copy, Entries, Mark } from './parts.tsx';

export interface Shown {
  readonly form: CallForm;
  readonly report: CallReport;
}

interface AnswerProps {
  /** The request that has no answer yet. */
  readonly asked: CallForm | undefined;
  readonly said: string;
  readonly shown: Shown | undefined;
  readonly ask: (form: CallForm) => void;
}

/** The outcome and the path of the last request. */
export function Answer({ asked, said, shown, ask }: AnswerProps) {
  const { outcome, summary, way: last } = shown?.report ?? {};
  // To show or hide a token is no new question, so the report and its focus stay.
  const isBusy = asked !== undefined && asked.reveal === undefined;
  const about = asked?.client === undefined ? 'who it is' : `for ${asked.client} on ${asked.service}`;
  const way = isBusy ? RUNNING : last;
  const outcomeLines = outcome && [<Mark outcome={outcome} key="mark" />, ` ${summary}`];
  return (
    <section aria-labelledby="answer">
      <h2 id="answer">Answer</h2>
      <p role="status" class="outcome">
        {isBusy ? `Asking ${about} …` : said || outcomeLines || FIRST}
      </p>
      {way ? <Way stations={way} /> : <img src="/architecture.svg" alt={PICTURE} />}
      {shown && (
        <fieldset class="report" disabled={isBusy}>
          <Report {...shown} ask={ask} />
        </fieldset>
      )}
    </section>
  );
}

const FIRST =
  'Press a cell, which is a client on a service: the service issues a token. Press it again: the token comes from memory. Let its service go down, and press once more.';
const PICTURE =
  'A caller signs a request; the token function takes the token from DynamoDB, or requests it once from the service with the credential from Secrets Manager.';

/** The path of a call without an answer yet. */
const RUNNING = (['caller', 'broker', 'memory', 'table', 'lease', 'secret', 'service'] as const).map(
  (name, index): Station => ({ name, state: (['passed', 'running'] as const)[index] ?? 'off' }),
);

function Report({ form, report, ask }: Shown & Pick<AnswerProps, 'ask'>) {
  const { detail, advice, advised, facts, texts, fingerprint } = report;
  const [name, choose] = useState('answer');
  const reveal = !form.reveal;
  const text = texts.find((entry) => entry.name === name)?.text ?? '';
  return (
    <>
      {detail && <p>{detail}</p>}
      {advice && <p>{advice}</p>}
      <Commands commands={advised} />
      <Entries entries={facts} />
      {fingerprint && (
        <p class="row">
          <button type="button" aria-pressed={!reveal} onClick={() => ask({ ...form, reveal })}>
            Show token
          </button>
          <button type="button" onClick={() => ask({ ...form, min_ttl: undefined, refused: fingerprint })}>
            Report it as refused
          </button>
        </p>
      )}
      <details open={form.reveal}>
        <summary>Raw answer and request, commands to repeat the call</summary>
        <Choice
          legend="Commands run in the folder of the project and sign as this caller."
          options={texts.map((entry) => [entry.name, entry.name])}
          value={name}
          onChoose={choose}
        />
        <pre>{text}</pre>
        <Copy entry={{ name, text }} label={name} key={text} />
      </details>
    </>
  );
}

/** The stations from the caller to the service. A station that the call did not reach stays dark. */
function Way({ stations }: { readonly stations: readonly Station[] }) {
  const last = stations.findLastIndex(({ state }) => state !== 'off');
  return (
    <ol class="way" aria-label="The path of the call">
      {stations.map(({ name, state, note, milliseconds }, index) => (
        <li key={name} class={`${state} ${index > last ? 'beyond' : ''}`}>
          <svg viewBox="0 0 24 24" role="img" aria-label={state === 'off' ? 'not asked' : state}>
            <circle cx="12" cy="12" r="10" />
            <path d={SIGNS[state]} />
          </svg>
          <b>{name}</b> <span>{note}</span> <span>{milliseconds !== undefined && `${milliseconds} ms`}</span>
        </li>
      ))}
    </ol>
  );
}

/** An arrow, a check mark, a lock, a cross. */
const SIGNS = {
  off: '',
  running: '',
  passed: 'M8 12h8m-3-3 3 3-3 3',
  answered: 'm7.5 12.5 3 3 6-7',
  refused: 'M8 11h8v6H8zm1.5 0V9a2.5 2.5 0 0 1 5 0v2',
  failed: 'm8 8 8 8m0-8-8 8',
} as const;
