import type { TargetedKeyboardEvent } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { CallForm, Cell, State } from '../messages.ts';
import { Choice, Commands, clock, INCIDENTS } from './parts.tsx';

interface BoardProps {
  readonly state: State;
  readonly chosen: CallForm | undefined;
  readonly ask: (form: CallForm) => void;
}

/** A table of clients and services. Each cell shows the state of a pair, and asks for the pair upon a click. */
export function Board({ state: { callers, services, clients, create }, chosen, ask }: BoardProps) {
  const [callerId, chooseCaller] = useState('');
  const [operation, chooseOperation] = useState<'token' | 'check'>('token');
  const [visited, visit] = useState('');
  const others = useRef<HTMLFormElement>(null);
  const caller = callers.find(({ id }) => id === callerId) ?? callers[0];
  const id = caller?.id ?? '';
  const names = callers.map((caller) => [caller.id, caller.name] as const);
  const changed = clients.find(({ name }) => name === chosen?.client) ?? clients[0];
  const pairs = clients.flatMap(({ name, cells }) => cells.map(({ service }) => `${name}/${service}`));
  const tabStop = Math.max(0, pairs.indexOf(visited));

  function askFor(client: string, service: string): void {
    const seconds = operation === 'token' && others.current?.min_ttl.value;
    ask({ caller: id, operation, client, service, min_ttl: seconds ? Number(seconds) : undefined });
  }

  function askForOthers(event: SubmitEvent): void {
    event.preventDefault();
    askFor(others.current?.client.value, others.current?.service.value);
  }

  /** Moves the focus between cells, with the keys that ARIA names for a grid. */
  function moveFocus(event: TargetedKeyboardEvent<HTMLTableElement>): void {
    const { key, currentTarget, altKey, ctrlKey, metaKey } = event;
    const row = tabStop - (tabStop % services.length);
    const [first, last] = ctrlKey ? [0, pairs.length - 1] : [row, row + services.length - 1];
    const sides = { ArrowLeft: tabStop - 1, ArrowRight: tabStop + 1, Home: first, End: last };
    const rows = { ArrowUp: tabStop - services.length, ArrowDown: tabStop + services.length };
    const target = new Map(Object.entries({ ...sides, ...rows })).get(key);
    if (target === undefined || altKey || metaKey) return;
    event.preventDefault();
    currentTarget.querySelectorAll('button')[target]?.focus();
  }

  const pairButton = (client: string, { service, word, severity, until, since, note, token }: Cell) => {
    const isAllowed = caller?.allowed.includes(`${operation} ${client}/${service}`);
    const time = (until && `until ${clock(until)}`) || (since && `since ${clock(since).slice(0, 5)}`);
    const lives = token?.lives && `token: ${token.lives}`;
    const [fact = '', ...more] = [isAllowed ? '' : 'no rule', word, time, note, lives].filter(Boolean);
    const notes = more.join(', ');
    const about = `${client} on ${service}: ${fact} ${notes}`;
    return (
      <button
        type="button"
        class={`cell ${severity} ${isAllowed ? '' : 'no-rule'}`}
        title={about}
        tabIndex={pairs[tabStop] === `${client}/${service}` ? 0 : -1}
        aria-label={`Ask for ${about}`}
        aria-pressed={chosen?.client === client && chosen.service === service}
        onFocus={() => visit(`${client}/${service}`)}
        onClick={() => askFor(client, service)}
      >
        <b>{fact}</b> <small>{notes}</small>
        {token?.part !== undefined && <i style={{ width: `${Math.round(token.part * 100)}%` }} />}
      </button>
    );
  };
  return (
    <section aria-labelledby="board">
      <h2 id="board">Ask for a pair</h2>
      <div class="row">
        <Choice legend="Sign as" options={names} value={id} onChoose={chooseCaller} />
        <Choice legend="Ask for" options={OPERATIONS} value={operation} onChoose={chooseOperation} />
      </div>
      <div class="board" hidden={!changed}>
        {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: ARIA's grid pattern allows a table. */}
        <table role="grid" aria-labelledby="board" style={{ '--services': services.length }} onKeyDown={moveFocus}>
          <thead>
            <tr>
              {[{ name: 'Client' }, ...services].map(({ name, trouble }) => (
                <th scope="col" key={name} title={name}>
                  {trouble && <strong class="bad">{INCIDENTS[trouble] ?? trouble}</strong>} <span>{name}</span>
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
      </div>
      <div class="row">
        <details open={!changed}>
          <summary>
            {changed ? `Change ${changed.name} from the command line` : 'No clients yet: create a client'}
          </summary>
          <Commands commands={changed?.commands ?? create} />
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

const OPERATIONS = [['token', 'a token'] as const, ['check', 'a check'] as const];
