import { newsOf } from './run-messages.ts';
import type { Entry, Observation } from './transitions.ts';

/** What an operator reads. The subject is one line of at most 99 characters of ASCII, as SNS wants it. */
export interface Message {
  readonly subject: string;
  readonly text: string;
}

/** Says what has changed, since when, and what to do. Nothing in it is a value of a secret or of a service's answer. */
export function messageOf(environment: string, observation: Observation, before: Entry | undefined): Message {
  const { condition, since, detail } = observation;
  const { headline, sentence, facts = [], whatToDo } = newsOf(environment, observation);
  const lines = [
    ['environment', environment],
    ...facts,
    ['finding', condition],
    ['since', dateTime(since)],
    ['before', before === undefined ? 'nothing to report' : `${before.condition} since ${dateTime(before.since)}`],
  ].map(([name, value]) => `${`${name}:`.padEnd(COLUMN)}${value}`);
  const paragraphs = [sentence, detail, lines.join('\n'), `What to do: ${whatToDo}`];
  return {
    subject: subjectLine(`[token-broker ${environment}] ${headline}`),
    text: `${paragraphs.filter((paragraph) => paragraph !== undefined).join('\n\n')}\n`,
  };
}

const COLUMN = 'secret version: '.length;

/** To the second, as in RFC 3339. */
function dateTime(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

/** SNS refuses what is longer, is not ASCII, or has a control character. */
function subjectLine(text: string): string {
  const line = text.replaceAll(/[^ -~]/g, '?');
  return line.length <= MAX_SUBJECT_LENGTH ? line : `${line.slice(0, MAX_SUBJECT_LENGTH - 3)}...`;
}

const MAX_SUBJECT_LENGTH = 99;
