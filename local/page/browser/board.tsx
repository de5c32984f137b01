import { useRef, useState } from 'preact/hooks';
import type { CallForm, Cell, State, Step } from '../messages.ts';
import { Choice, Commands, clock } from './parts.tsx';

interface BoardProps {
  readonly state: State;
  readonly chosen: CallForm | undefined;
  readonly ask: (form: CallForm) => void;
}

/** A table of clients and services. Each cell shows the state of a pair, and asks for the pair upon a click. */
export function Board({ state: { callers, services, clients, stages, done }, chosen, ask }: BoardProps) {
  const [callerId, chooseCaller] = useState('');
  const [operation, chooseOperation] = useState<'token' | 'check'>('token');
  const others = useRef<HTMLFormElement>(null);
  const caller = callers.find(({ id }) => id === callerId) ?? callers[0];
  const id = caller?.id ?? '';
  const changed = clients.find(({ name }) => name === chosen?.client) ?? clients[0];

  function askFor(client: string, service: string): void {
    const seconds = operation === 'token' && others.current?.min_ttl.value;
    ask({ caller: id, operation, client, service, min_ttl: seconds ? Number(seconds) : undefined });
  }

  function askForOthers(event: SubmitEvent): void {
    event.preventDefault();
    askFor(others.current?.client.value, others.current?.service.value);
  }

  const pairButton = (client: string, { service, word, severity, until, since, note, token }: Cell) => {
    const isAllowed = caller?.allowed.includes(`${operation} ${client}/${service}`);
    const time = (until && ` until ${clock(until)}`) || (since && ` since ${clock(since).slice(0, 5)}`) || '';
    const state = `${word}${time}`;
    const notes = [isAllowed ? '' : 'no rule', note, token && `token: ${token.lives}`].filter(Boolean).join(', ');
    return (
      <button
        type="button"
        class={`cell ${severity} ${isAllowed ? '' : 'no-rule'}`}
        title={`${client} on ${service}`}
        aria-label={`Ask for ${client} on ${service}: ${state} ${notes}`}
        aria-pressed={chosen?.client === client && chosen.service === service}
        onClick={() => askFor(client, service)}
      >
        <b>{severity === 'stopped' ? `⊘ ${state}` : state}</b> <small>{notes}</small>
        {token?.part !== undefined && <i style={{ width: `${Math.round(token.part * 100)}%` }} />}
      </button>
    );
  };
  return (
    <section aria-labelledby="board">
      <h2 id="board">Ask for a pair</h2>
      <Steps steps={done} canFail={stages.length > 0} />
      <div class="row">
        <Choice
          legend="Sign as"
          options={callers.map((caller) => [caller.id, caller.name])}
          value={id}
          onChoose={chooseCaller}
        />
        <Choice
          legend="Ask for"
          options={[
            ['token', 'a token'],
            ['check', 'a check'],
          ]}
          value={operation}
          onChoose={chooseOperation}
        />
      </div>
      <table>
        <thead>
          <tr>
            {['Client', ...services].map((name) => (
              <th scope="col" key={name} title={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {clients.map(({ name, cells }) => (
            <tr key={name}>
              <th scope="row" title={name}>
                {name}
              </th>
              {cells.map((cell) => (
                <td key={cell.service}>{pairButton(name, cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <div class="row">
        <details>
          <summary>Change {changed?.name} from the command line</summary>
          <Commands commands={changed?.commands ?? []} />
        </details>
        <details>
          <summary>Other names, minimum life time, who am I</summary>
          <form ref={others} class="row" noValidate onSubmit={askForOthers}>
            {Object.entries({ client: 'Client', service: 'Service', min_ttl: 'Seconds to live' }).map(
              ([name, label]) => (
                <label key={name}>
                  {label} <input name={name} autocomplete="off" autocapitalize="none" spellcheck={false} />
                </label>
              ),
            )}
            <button type="submit">Ask</button>
            <button type="button" onClick={() => ask({ caller: id, operation: 'whoami' })}>
              Who am I?
            </button>
          </form>
        </details>
      </div>
    </section>
  );
}

/** The first steps, until all of them have happened. */
function Steps({ steps, canFail }: { readonly steps: readonly Step[]; readonly canFail: boolean }) {
  const offered = STEPS.filter(([step]) => canFail || step !== 'incident');
  if (offered.every(([step]) => steps.includes(step))) return undefined;
  return (
    <>
      <p>A pair is a client on a service: the broker keeps one token for each.</p>
      <ol class="steps" aria-label="First steps">
        {offered.map(([step, text]) => (
          <li key={step} class={steps.includes(step) ? 'done' : ''}>
            {text}
          </li>
        ))}
      </ol>
    </>
  );
}

const STEPS: readonly (readonly [step: Step, text: string])[] = [
  ['request', 'Press a cell: the service issues a token.'],
  ['memory', 'Press it again: the token comes from memory.'],
  ['incident', 'Let its service go down and press once more.'],
];
