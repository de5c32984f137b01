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
    <fieldset class={`choice ${kind ?? ''}`}>
      <legend>{legend}</legend>
      {options.map(([each, label]) => (
        <label key={each}>
          <input type="radio" name={legend} value={each} checked={each === value} onChange={() => onChoose(each)} />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** A list of names with their texts. Ids have a copy sign. */
export function Entries({ entries, kind }: { readonly entries: readonly Entry[]; readonly kind: string }) {
  const parts = entries.map(({ name, text }) => (
    <div key={name}>
      <dt>{name}</dt>
      <dd title={text}>
        <span>{text}</span> {IDS.has(name) && <Copy entry={{ name, text }} sign />}
      </dd>
    </div>
  ));
  return <dl class={kind}>{parts}</dl>;
}

const IDS = new Set(['fingerprint', 'request id']);

/** The word of an outcome, coloured by its kind. */
export function Mark({ outcome: { word, kind } }: { readonly outcome: Outcome }) {
  return <strong class={kind}>{word}</strong>;
}

const SIGN = (
  <svg viewBox="0 0 16 16" aria-hidden="true">
    <path d="M5 5V2h9v9h-3M2 5h9v9H2z" />
  </svg>
);

/** A button that copies a text, and confirms it until it loses the focus. */
export function Copy({ entry: { name, text }, sign }: { readonly entry: Entry; readonly sign?: boolean }) {
  const [said, say] = useState('Copy');
  const copy = () => navigator.clipboard.writeText(text).then(() => say('Copied'));
  return (
    <button type="button" aria-label={`${said} ${name}`} onClick={copy} onBlur={() => say('Copy')}>
      <span aria-live="polite">{sign && said === 'Copy' ? SIGN : said}</span>
    </button>
  );
}

/** The names of commands, each with a button that copies the whole command. */
export function Commands({ commands }: { readonly commands: readonly Entry[] }) {
  return commands.map((command) => (
    <p class="row" key={command.name}>
      <code>{command.name}</code> <Copy entry={command} />
    </p>
  ));
}

/** Formats a time of day. */
export function clock(epochMs: number): string {
  return new Date(epochMs).toLocaleTimeString('en-GB');
}
