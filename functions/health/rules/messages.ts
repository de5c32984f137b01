import { type Finding, findingAdvice, secretName } from '../../vocabulary.ts';
import type { Entry, Observation } from './evaluate.ts';

/** A message to the operators. SNS limits the subject to a line of 99 ASCII characters. */
export interface Message {
  readonly subject: string;
  readonly text: string;
}

/** The condition of a subject, and the condition that was reported before. */
export interface Change {
  readonly observation: Observation;
  readonly before: Entry | undefined;
}

/** Returns a key that changes share if their texts differ only in the client. */
export function messageKey(change: Change): string {
  const { service, finding } = factsOf('', change);
  return JSON.stringify([service, finding, textsOf(change.observation)]);
}

/** Describes changes, their start and the remedy. Never contains a value of a secret or of a service's answer. */
export function messageOf(environment: string, changes: readonly Change[]): Message {
  const groups = [...Map.groupBy(changes, messageKey).values()];
  const sections = groups.map((group) => sectionOf(environment, group));
  const command = `Run commands as: npm run token-broker -- <command> --environment ${environment}`;
  const rows = groups.flatMap(([change]) => (change ? `docs/messages.md#${anchorOf(change.observation)}` : []));
  const paragraphs = [...sections.flatMap((section) => section.paragraphs), command, rows.join('\n')];
  const text = `${paragraphs.join('\n\n')}\n`;
  const subject = `[token-broker ${environment}] ${sections.map(({ headline }) => headline).join('; ')}`;
  // SNS refuses a longer subject. Names are always ASCII.
  return { subject: subject.length > 99 ? `${subject.slice(0, 96)}...` : subject, text };
}

/** Describes changes with the same key: up to three in a table each, more in a list with the first command. */
function sectionOf(environment: string, changes: readonly Change[]) {
  const tables = changes.map((change) => factsOf(environment, change));
  const clients = tables.flatMap(({ client }) => client ?? []);
  const isList = changes.length > MAX_TABLES;
  const names = isList ? `${clients.length} clients` : clients.join(', ');
  const fill = (text: string, client: string) =>
    text.replaceAll(/<(\w+)>/g, (place, name) => (name === 'client' ? client : tables[0]?.[name]) ?? place);
  const [[headline, sentence, advice] = ['', '', '']] = changes.map(({ observation }) => textsOf(observation));
  const details = changes.flatMap(({ observation }) => observation.detail ?? []);
  const described = isList ? listOf(tables) : tables.map(tableText);
  const remedy = `What to do: ${fill(advice, clients.length > 1 ? '<client>' : names)}`;
  return { headline: fill(headline, names), paragraphs: [fill(sentence, names), ...details, ...described, remedy] };
}

const MAX_TABLES = 3;

/** Returns what the tables share, the beginning of the list of clients, and the command that shows all of them. */
function listOf(tables: readonly Facts[]): readonly string[] {
  const [{ environment, service, finding, end } = {}] = tables;
  const [since] = tables.map((facts) => `${facts.since}`).toSorted();
  const clients = tables.map((facts) => `${facts.client} ${facts.end ?? ''}`.trim()).toSorted();
  const rest = clients.length > MAX_LISTED ? [`and ${clients.length - MAX_LISTED} more`] : [];
  const table = tableText({ environment, service, finding, clients: `${clients.length}`, since });
  const command = `Begin with \`${end === undefined ? 'health' : 'client list'}\`: it shows all of them.`;
  return [table, [...clients.slice(0, MAX_LISTED), ...rest].join('\n'), command];
}

const MAX_LISTED = 20;

type Facts = Readonly<Record<string, string | undefined>>;

function factsOf(environment: string, { observation, before }: Change): Facts {
  const { condition, since, version = 'not known' } = observation;
  const pair = 'pair' in observation ? observation.pair : undefined;
  return {
    environment,
    client: pair?.client,
    service: observation.kind === 'service' ? observation.service : pair?.service,
    secret: pair && secretName(environment, pair.client),
    'secret version': pair && version,
    end: observation.kind === 'expiry' ? observation.credentialExpiresAt : undefined,
    finding: condition,
    since: dateTime(since),
    before: before === undefined ? 'nothing to report' : `${before.condition} since ${dateTime(before.since)}`,
  };
}

function tableText(facts: Facts): string {
  const rows = Object.entries(facts).filter(([, value]) => value !== undefined);
  return rows.map(([name, value]) => `${`${name}:`.padEnd(COLUMN)}${value}`).join('\n');
}

const COLUMN = 'secret version: '.length;

/** Formats a time to the second, as RFC 3339 does. */
function dateTime(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

/** Returns the name of the message's row in docs/messages.md. */
export function anchorOf(observation: Observation): Finding | keyof typeof TEXTS {
  return observation.kind === 'pair' ? observation.condition : otherAnchorOf(observation);
}

function otherAnchorOf({ kind, condition }: Exclude<Observation, PairObservation>): keyof typeof TEXTS {
  if (kind === 'expiry') return condition === 'end-malformed' || condition === 'end-mistagged' ? condition : 'ended';
  return kind === 'probe' ? `probe-${condition}` : `${kind}-${condition}`;
}

type PairObservation = Extract<Observation, { readonly kind: 'pair' }>;

/** Returns texts with placeholders such as `<client>`. */
export function textsOf(observation: Observation): readonly [headline: string, sentence: string, advice: string] {
  if (observation.kind !== 'pair') {
    const [sentence, advice, headline = ABOUT_PAIR] = TEXTS[otherAnchorOf(observation)];
    return [headline, sentence, advice];
  }
  const { condition, cause, at, credentialExpiresAt = '' } = observation;
  const isBudget = condition === 'throttled' && cause !== undefined && cause !== 'service';
  const isExpired = Date.parse(credentialExpiresAt) <= at;
  const advice = condition === 'accepted' ? 'Nothing.' : findingAdvice(condition, { cause, isExpired });
  return [ABOUT_PAIR, isBudget ? NOT_TRIED : SENTENCES[condition], advice];
}

const ABOUT_PAIR = '<finding>: <client> on <service>';
const NOT_TRIED = 'The broker did not try the credential of <client> on <service>.';

const SENTENCES: Readonly<Record<Finding, string>> = {
  accepted: '<service> accepts the credential of <client>.',
  rejected:
    '<service> rejects the credential of <client>. The broker sends this version at most twice more, so that the ' +
    'account is not locked. Callers get tokens of the previous version, if there is one that <service> accepts.',
  throttled: '<service> reports too many token requests for <client>.',
  unreachable: '<service> does not answer token requests for <client>, or not in time.',
  misconfigured: '<service> answers token requests for <client>, but not with a token that the broker can use.',
  'secret-missing': 'There is no credential of <client> to send to <service>.',
  'secret-malformed': 'The secret of <client> contains no credential that can be sent to <service>.',
  disabled: 'An operator has disabled <client>: no token of <service> is issued.',
};

type Texts = readonly [sentence: string, advice: string, headline?: string];

const TEXTS = {
  ended: [
    'The credential of <client> on <service> ends, or has ended, at the time below.',
    'Get its successor from <service>, while both are valid, and store it with `client put <client> --expires <date>`.',
  ],
  'end-malformed': [
    'The end of the credential of <client> on <service> is not a whole number of seconds. The broker ignores it.',
    'Correct `client_secret_expires_at`: store the credential again with `client put <client> --expires <date>`.',
  ],
  'end-mistagged': [
    'The tag `expires` of the secret version does not contain the end that the secret says. Only lists use the tag.',
    'Write the end above into the tag, or store the credential again with `client put <client>`.',
  ],
  'service-answering': [
    '<service> answers token requests again. This ends the incident.',
    'Nothing. Clients that still get no answer are reported separately.',
    '<service> answers again',
  ],
  'service-incident': [
    '<service> answers hardly any token request. Callers get the tokens that are still valid. During the incident, ' +
      'clients that get no answer of this service are not reported separately.',
    'Contact the operator of <service>. The credentials are not the cause: leave them as they are.',
    'incident: <service> does not answer',
  ],
  'broker-answering': ['The broker can check credentials again.', 'Nothing.', 'the broker can check credentials again'],
  'broker-incident': [
    'No credential could be checked. Callers may get no tokens either.',
    'Look at the alarms and the log of the function token-broker-<environment>, and find the cause with `doctor --stack`.',
    'incident: the broker checks no credential',
  ],
  'probe-denied': [
    'The broker refuses the probe, a role without an access rule, as it must.',
    'Check in the audit lines whether a role received a token in the meantime that no rule allows.',
    'a role without an access rule is refused again',
  ],
  'probe-unproven': [
    'No answer proves that the broker refuses the probe, a role without an access rule.',
    'Check that the health function may assume the probe role and call the Function URL, and that the broker answers.',
    'not proven that roles without an access rule are refused',
  ],
  'probe-not-denied': [
    'The broker did not refuse the probe, a role without an access rule. Other roles may get tokens without a rule.',
    'Undo the latest change of access rules or code, and find tokens that no rule allows in the audit lines.',
    'SECURITY: a role without an access rule was not refused',
  ],
} as const satisfies Record<string, Texts>;
