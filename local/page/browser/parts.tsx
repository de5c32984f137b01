import { useState } from 'preact/hooks';
import type { Entry, Outcome } from '../messages.ts';

interface ChoiceProps<Value extends string> {
  readonly legend: string;
  readonly options: readonly (readonly [value: Value, label: string])[];
  readonly value: string;
  readonly onChoose: (value: Value) => void;
  readonly kind?: string;
}

/** A choice between options that are all visible. */
export function Choice<Value extends string>({ legend, options, value, onChoose, kind }: ChoiceProps<Value>) {
  return (
    <fieldset class={kind}>
      <legend>{legend}</legend>
      {options.map(([item, label]) => (
        <label key={item}>
          <input type="radio" name={legend} value={item} checked={item === value} onChange={() => onChoose(item)} />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** A list of names with their texts. Ids have a copy sign. */
export function Entries({ entries }: { readonly entries: readonly Entry[] }) {
  const parts = entries.map(({ name, text }) => (
    <div key={name}>
      <dt>{name}</dt>
      <dd title={text}>{IDS.has(name) ? <Copy entry={{ name, text }} label={text} /> : text}</dd>
    </div>
  ));
  return <dl>{parts}</dl>;
}

const IDS = new Set(['fingerprint', 'request id']);

/** The word of an outcome, coloured by its kind. */
export function Mark({ outcome: { word, kind } }: { readonly outcome: Outcome }) {
  return <strong class={kind}>{word}</strong>;
}

/** A button that copies a text, and confirms it until it loses the focus. */
export function Copy({ entry: { name, text }, label }: { readonly entry: Entry; readonly label: string }) {
  const [said, say] = useState('Copy');
  const about = name === label ? name : `${name} ${label}`;
  const copy = () => navigator.clipboard.writeText(text).then(() => say('Copied'));
  return (
    <button type="button" aria-label={`${said} ${about}`} onClick={copy} onBlur={() => say('Copy')}>
      <code aria-live="polite">{`${said === 'Copy' ? '❐' : said} ${label}`}</code>
    </button>
  );
}

/** The names of commands. A press copies the whole command. */
export function Commands({ commands }: { readonly commands: readonly Entry[] }) {
  if (commands.length === 0) return undefined;
  const copies = commands.map((command) => <Copy entry={command} label={command.name} key={command.name} />);
  return <p class="row">{copies}</p>;
}

/** The incidents of a service, with words for a reader. */
export const INCIDENTS: Readonly<Record<string, string>> = {
  recover: 'works',
  slow: 'slow',
  down: 'down',
  throttle: 'throttles',
  reject: 'rejects',
};

/** Formats a time of day. */
export function clock(epochMs: number): string {
  return new Date(epochMs).toLocaleTimeString('en-GB');
}
