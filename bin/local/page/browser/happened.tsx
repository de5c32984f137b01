import { useEffect, useState } from 'preact/hooks';
import type { SeenRequest, State } from '../messages.ts';
import { Choice, Commands, clock, Mark } from './parts.tsx';

interface IncidentsProps extends Pick<State, 'stages'> {
  readonly order: (path: string, form: object) => Promise<string | undefined>;
}

/** Controls that let services fail and recover. */
export function Incidents({ stages, order }: IncidentsProps) {
  const [said, say] = useState('');
  const play = async (service: string, name: string) => {
    say(`${service}: ${await order('/incident', { service, name })}`);
  };
  const checkAll = async () => {
    say('Checking every pair …');
    say((await order('/schedule', {})) ?? 'Every pair was checked.');
  };
  return (
    <section aria-labelledby="incidents">
      <div class="row">
        <h2 id="incidents">Play an incident</h2>
        <button type="button" onClick={checkAll}>
          Run the checks of the schedule
        </button>
        <span role="status">{said}</span>
      </div>
      {stages.map(({ service, plays, states }) => (
        <div class="row" key={service}>
          <Choice
            kind={`segments ${plays}`}
            legend={service}
            options={states.map(({ name, text }) => [name, text])}
            value={plays}
            onChoose={(name) => play(service, name)}
          />
          <button type="button" aria-label={`Revoke its tokens: ${service}`} onClick={() => play(service, 'revoke')}>
            Revoke its tokens
          </button>
        </div>
      ))}
      {stages.length === 0 && <p>The services of your configuration play no incidents.</p>}
    </section>
  );
}

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
  const took = milliseconds === undefined ? undefined : `${milliseconds} ms`;
  return (
    <details class="event" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <time>{clock(at)}</time> <Mark outcome={outcome} />
        {folded ? `: ${subject}` : ` ${[caller, subject, origin, took].filter(Boolean).join(', ')}`}
        {folded && origin && <small>, {origin}</small>}
      </summary>
      {isOpen && folded?.map((each) => <Row request={each} key={each.id} />)}
      {isOpen && !folded && (took ? <AuditLine id={id} /> : <p>AWS answered. The broker was not called.</p>)}
    </details>
  );
}

function AuditLine({ id }: { readonly id: string }) {
  const [line, show] = useState('');
  useEffect(() => {
    const read = async () => JSON.stringify(await (await fetch(`/audit/${id}`)).json(), undefined, 2);
    read().then(show, () => show('The broker has stopped.'));
  }, [id]);
  return <pre>{line}</pre>;
}

/** The messages to the operators. */
export function Messages({ messages }: Pick<State, 'messages'>) {
  return (
    <section aria-labelledby="messages">
      <h2 id="messages">Messages to the operators</h2>
      {messages.length === 0 && <p>No messages yet. The checks of the schedule report changes.</p>}
      {messages.map(({ at, subject, text, commands }) => (
        <article key={`${at} ${subject}`}>
          <h3>
            <time>{clock(at)}</time> {subject.replace(/^\[.*?\] /, '')}
          </h3>
          <p>{text.split('\n\n', 1)}</p>
          <Commands commands={commands} />
          <details>
            <summary>The whole message</summary>
            <pre>{text}</pre>
          </details>
        </article>
      ))}
    </section>
  );
}
