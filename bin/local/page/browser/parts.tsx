import { useState } from 'preact/hooks';
import type { Entry, Outcome } from '../messages.ts';

interface ChoiceProps<Value extends string> {
  readonly legend: string;
  readonly options: readonly (readonly [value: Value, label: string])[];
  readonly value: string;
  readonly onChoose: (value: Value) => void;
}

/** A choice between options that are all visible. */
export function Choice<Value extends string>({ legend, options, value, onChoose }: ChoiceProps<Value>) {
  return (
    <fieldset>
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

/** A list of names with their texts. */
export function Entries({ entries, kind }: { readonly entries: readonly Entry[]; readonly kind: string }) {
  const parts = entries.map(({ name, text }) => (
    <div key={name}>
      <dt>{name}</dt>
      <dd>{text}</dd>
    </div>
  ));
  return <dl class={kind}>{parts}</dl>;
}

/** The word of an outcome, coloured by its kind. */
export function Mark({ outcome: { word, kind } }: { readonly outcome: Outcome }) {
  return <strong class={kind}>{word}</strong>;
}

/** A button that copies a text, and confirms it until it loses the focus. */
export function Copy({ entry: { name, text } }: { readonly entry: Entry }) {
  const [said, say] = useState('Copy');
  const copy = () => navigator.clipboard.writeText(text).then(() => say('Copied'));
  return (
    <button type="button" aria-label={`${said} ${name}`} onClick={copy} onBlur={() => say('Copy')}>
      <span aria-live="polite">{said}</span>
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
