import { useState } from 'preact/hooks';
import type { SeenRequest, State } from '../messages.ts';
import { Choice, Commands, clock, INCIDENTS, Mark } from './parts.tsx';

type Order = (path: string, form: object) => Promise<string | undefined>;

/** Controls that let services and the table fail and recover. */
export function Incidents({ services, table, order }: Pick<State, 'services' | 'table'> & { readonly order: Order }) {
  const [said, say] = useState('');
  const play = async (service: string, name: string) => {
    say(`${service}: ${await order('/incident', { service, name })}`);
  };
  const stages = [...services, { name: 'table', plays: table }].filter(({ plays }) => plays !== undefined);
  return (
    <section aria-labelledby="incidents">
      <div class="row">
        <h2 id="incidents">Play an incident</h2>
        <small role="status">{said}</small>
      </div>
      {stages.map(({ name: stage, plays = '' }) => (
        <div class="row" key={stage}>
          <Choice
            kind={`incident ${plays}`}
            legend={stage}
            options={Object.entries(stage === 'table' ? TABLE : INCIDENTS)}
            value={plays}
            onChoose={(name) => play(stage, name)}
          />
          {stage !== 'table' && (
            <button type="button" aria-label={`Revoke its tokens: ${stage}`} onClick={() => play(stage, 'revoke')}>
              Revoke its tokens
            </button>
          )}
        </div>
      ))}
    </section>
  );
}

const TABLE = { recover: 'works', 'table-down': 'down', 'table-busy': 'throttles', 'table-denied': 'refuses' };

/** The last requests. A row opens its audit line, or the requests that it summarizes. */
export function Requests({ requests }: Pick<State, 'requests'>) {
  return (
    <section aria-labelledby="requests">
      <h2 id="requests">Recent requests</h2>
      {requests.length === 0 && <p>No requests yet.</p>}
      {requests.slice(0, FIRST_ROWS).map(row)}
      {requests.length > FIRST_ROWS && (
        <details>
          <summary>{requests.length - FIRST_ROWS} more</summary>
          {requests.slice(FIRST_ROWS).map(row)}
        </details>
      )}
    </section>
  );
}

const FIRST_ROWS = 8;
const row = (request: SeenRequest) => <Row request={request} key={request.id} />;

function Row({ request }: { readonly request: SeenRequest }) {
  const { id, at, outcome, caller, subject, origin, milliseconds, folded } = request;
  const [isOpen, setOpen] = useState(false);
  const [line, show] = useState('');
  const read = async () => JSON.stringify(await (await fetch(`/audit/${id}`)).json(), undefined, 2);
  const toggle = ({ currentTarget: { open } }: { readonly currentTarget: HTMLDetailsElement }) => {
    setOpen(open);
    if (open && took) read().then(show, () => show('The broker has stopped.'));
  };
  const took = milliseconds === undefined ? undefined : `${milliseconds} ms`;
  return (
    <details onToggle={toggle}>
      <summary>
        <time>{clock(at)}</time> <Mark outcome={outcome} />
        {folded ? ':' : ''} {[caller, subject, origin, took].filter(Boolean).join(', ')}
      </summary>
      {isOpen && folded?.map(row)}
      {isOpen && !folded && (took ? <pre>{line}</pre> : <p>AWS answered. The broker was not called.</p>)}
    </details>
  );
}

/** The messages to the operators. The newest is open. */
export function Messages({ messages, order }: Pick<State, 'messages'> & { readonly order: Order }) {
  const [said, say] = useState('');
  const checkAll = async () => {
    say('Checking every pair …');
    say((await order('/schedule', {})) ?? 'Every pair was checked.');
  };
  return (
    <section aria-labelledby="messages">
      <div class="row">
        <h2 id="messages">Messages to the operators</h2>
        <button type="button" onClick={checkAll}>
          Run the checks
        </button>
        <small role="status">{said}</small>
      </div>
      {messages.length === 0 && <p>No messages yet. The checks of the schedule report changes.</p>}
      {messages.map(({ at, subject, text, commands }, index) => (
        <details key={`${at} ${subject}`} open={index === 0}>
          <summary>
            <time>{clock(at)}</time> <h3>{subject.replace(/^\[.*?\] /, '')}</h3>
          </summary>
          <p>{text.split('\n\n', 1)}</p>
          <Commands commands={commands} />
          <details>
            <summary>The whole message</summary>
            <pre>{text}</pre>
          </details>
        </details>
      ))}
    </section>
  );
}
