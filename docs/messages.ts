import { INTERRUPTED } from '../client/commands/shell.ts';
import type { Pair } from '../functions/broker/pair.ts';
import type { Observation } from '../functions/health/rules/evaluate.ts';
import { anchorOf, textsOf } from '../functions/health/rules/messages.ts';
import {
  FINDINGS,
  PROBLEM_ADVICE,
  PROBLEMS,
  type ProblemType,
  WARNING_METRICS,
  type Warning,
} from '../functions/vocabulary.ts';
import { ALARMS, NEW_VERSION_ALARMS, TRAIL_ALARMS } from '../lib/monitoring/alarms.ts';

/** Returns docs/messages.md, with everything that the broker says to an operator. A test compares the page with it. */
export function messagesPage(): string {
  return `# What the broker says

Made by [messages.ts](messages.ts). \`tb\` is the command line after
[Before you begin](runbook.md#before-you-begin). Replace \`<client>\` and \`<service>\`.

## Messages and findings

Health and \`client check\` find these.

${tableOf(['message', 'it means', 'first'], observationsOf({ client: '<client>', service: '<service>' }).map(messageRow))}

## Problems

A caller gets these as \`type\` of an answer that is no token. After a 424
send the operators its \`request_id\`: they follow the link.

${tableOf(['problem', 'status', 'it means', 'first'], (Object.keys(PROBLEMS) as ProblemType[]).map(problemRow))}

## Alarms

The name of an alarm begins with \`token-broker-\` and ends with the environment. [Alarms](alarms.md#alarms) says more,
also about [\`service-level\`](alarms.md#the-service-level).

${tableOf(['alarm', 'it means', 'first'], Object.entries({ ...ALARMS, ...NEW_VERSION_ALARMS, ...TRAIL_ALARMS }).map(alarmRow))}

## Warnings

\`warnings\` of an audit line, which \`tb audit <client>\` shows, and their metrics.

${tableOf(['warning', 'metric', 'it means'], (Object.keys(WARNING_METRICS) as Warning[]).map(warningRow))}

## Exit codes

${tableOf(
  ['code', 'it means', 'first'],
  Object.entries(EXIT_CODES).map(([code, row]) => [code, ...row]),
)}

## Words

${tableOf(['word', 'it means'], Object.entries(WORDS))}
`;
}

/** What each exit code means, and what helps. */
const EXIT_CODES: Readonly<Record<number, readonly [means: string, first: string]>> = {
  0: ['done', '-'],
  1: ['refused, failed, or something is wrong', 'Read the last lines on stderr: they name the next command.'],
  2: ['wrong usage: nothing was done', 'Run it with `--help`.'],
  [INTERRUPTED]: ['interrupted: it may be done', 'Look at `client show` first.'],
};

function tableOf(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lineOf = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`;
  return [lineOf(header), `|${'---|'.repeat(header.length)}`, ...rows.map(lineOf)].join('\n');
}

/** Returns every kind of observation that can lead to a message. */
export function observationsOf(pair: Pair, at = 0): readonly Observation[] {
  const look = { since: at, at };
  return [
    ...FINDINGS.map((condition) => ({ kind: 'pair', pair, condition, ...look }) as const),
    ...(['ended', 'end-malformed', 'end-mistagged'] as const).map((condition) => {
      return { kind: 'expiry', pair, condition, credentialExpiresAt: '2026-01-07T00:00:00.000Z', ...look } as const;
    }),
    ...(['incident', 'answering'] as const).flatMap((condition): readonly Observation[] => [
      { kind: 'service', service: pair.service, condition, ...look },
      { kind: 'broker', condition, ...look },
    ]),
    ...(['not-denied', 'unproven', 'denied'] as const).map(
      (condition) => ({ kind: 'probe', condition, ...look }) as const,
    ),
  ];
}

function messageRow(observation: Observation): readonly string[] {
  const anchor = anchorOf(observation);
  const [headline, sentence] = textsOf(observation).map((text) => text.replaceAll('<finding>', observation.condition));
  const unasked = observation.kind === 'pair' ? textsOf({ ...observation, cause: 'rejected-versions' })[1] : sentence;
  const other = unasked === sentence ? '' : ` Another cause: ${unasked}`;
  const [command = '', section = ''] = FIRST[anchor] ?? [];
  const [title = ''] = (headline ?? '').split(': <client>');
  const name = title === 'ended' ? 'ended, ends-within-…' : title;
  const alarm = observation.kind === 'probe' ? `<br>\`${anchor}\`` : '';
  const first = [command && `\`tb ${command}\``, section && linkTo(...split(section))].filter(Boolean).join('<br>');
  return [`<a id="${anchor}"></a>\`${name}\`${alarm}`, quoted(`${sentence}${other}`), first || '-'];
}

/** The first command and the section of the guides for each message, by its anchor. */
const FIRST: Readonly<Record<string, readonly [command: string, section: string]>> = {
  rejected: ['client check <client>', 'A rejected credential (runbook)'],
  throttled: ['client check <client>', 'A service incident (runbook)'],
  unreachable: ['health', 'A service incident (runbook)'],
  misconfigured: ['doctor --client <client> --service <service>', 'A service incident (runbook)'],
  'secret-missing': ['client show <client>', 'Restore a deleted secret (runbook)'],
  'secret-malformed': ['client show <client>', 'Rotate a credential (runbook)'],
  disabled: ['client show <client>', 'A leaked credential (runbook)'],
  ended: ['client show <client>', 'A credential that ends (runbook)'],
  'end-malformed': ['client put <client> --expires <day>', 'A credential that ends (runbook)'],
  'end-mistagged': ['client put <client> --expires <day>', 'A credential that ends (runbook)'],
  'service-incident': ['health', 'A service incident (runbook)'],
  'broker-incident': ['doctor --stack', 'Without the table (alarms)'],
  'probe-not-denied': ['release back --dry-run', 'Go back to an earlier version (runbook)'],
  'probe-unproven': ['doctor --stack', 'Prove the stack (deploy)'],
  'probe-denied': ['audit <client> --since 1d', 'Audit lines (alarms)'],
};

function split(section: string): readonly [title: string, page: string] {
  const [, title = '', page = ''] = /^(.*) \((\w+)\)$/.exec(section) ?? [];
  return [title, page];
}

function linkTo(title: string, page: string): string {
  const anchor = title.toLowerCase().replaceAll(/[^\w-]/g, (sign) => (sign === ' ' ? '-' : ''));
  return `[${title}](${page}.md#${anchor})`;
}

/** Returns a text in which placeholders outside of code are code, because a page would hide them. */
function quoted(text = ''): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : part.replaceAll(/<\w+>/g, '`$&`')))
    .join('');
}

function problemRow(type: ProblemType): readonly string[] {
  const { status, title, finding }: { status: number; title: string; finding?: string } = PROBLEMS[type];
  const first = status === 424 && finding !== undefined ? `[${finding}](#${finding})` : linked(PROBLEM_ADVICE[type]);
  return [`\`${type}\``, `${status}`, title, first];
}

function alarmRow([name, { means, act }]: readonly [string, { readonly means: string; readonly act: string }]) {
  // The alarm itself says what comes after its first section.
  const [first = ''] = /^.*?(?:"[^"]+" \(docs\/\w+\.md\)|\.(?= [A-Z]|$))/.exec(act) ?? [];
  return [`\`${name}\``, means, linked(first)];
}

/** Returns a text in which each section that it names is a link. */
function linked(text: string): string {
  return quoted(text).replaceAll(/"([^"]+)" \(docs\/(\w+)\.md\)/g, (_, title, page) => linkTo(title, page));
}

function warningRow(warning: Warning): readonly string[] {
  return [`\`${warning}\``, `\`${WARNING_METRICS[warning]}\``, WARNINGS[warning]];
}

const WARNINGS: Readonly<Record<Warning, string>> = {
  'table-unavailable':
    'DynamoDB was down or slow, refused a call, or the sealing key was missing: the instance sent nothing',
  'table-busy': 'DynamoDB throttled a call: the instance sent nothing',
  'secret-stale': 'Secrets Manager is down: the last known secret version served',
  rejected: 'a service rejected a credential',
  'previous-version': 'the current version is latched: the previous version served',
  'credential-echoed': 'a service repeated the credential in its answer: that part was left out. Tell its operators',
  'same-token-again': 'the service returned a refused token again',
  'lifetime-cut':
    'the answer has a longer life time than `maxLifetimeSeconds`, which counted: it may be in milliseconds (`response.lifetimeUnit`)',
  'classical-tls':
    'TLS stood only without a post-quantum key exchange: a firewall or the service drops its larger first message',
  'expiry-without-zone':
    'the only expiry in the answer names no time zone and did not count: set `tokenLifetimeSeconds`, or for UTC `response.lifetimeMember`',
};

const WORDS = {
  client: 'the party whose credential the broker keeps',
  caller: 'the AWS role that signed the request',
  service: 'the issuer of tokens',
  pair: 'one client on one service',
  'may act for': 'an access rule lets the caller get tokens of this pair',
  finding: 'the result of a check',
  proof: 'the evidence of a finding: a token request, or the reason for none',
  proven: 'a service issued a token for this version',
  pending: 'stored, not in use (`AWSPENDING`)',
  trial: 'a check of a version not in use',
  untried: 'judged by no service yet',
  fingerprint: "the beginning of a token's SHA-256, for logs",
  latch: 'a service rejected this version: at most two more requests, until `client retry` or a new version',
  hold: 'a service answered this version with an error or, unproven, with silence: it waits an hour at most',
  pause: 'a service failed: nothing is sent for the pair, five minutes at most',
  lease: 'the right to one token request of a pair, for 6 s',
  probe: 'a role without an access rule, which must be refused',
};
