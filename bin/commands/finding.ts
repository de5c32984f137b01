import type { Finding } from '../../functions/contract.ts';
import { findingOf, type PairCheck } from './checks.ts';
import { explain } from './explain.ts';
import { printTable, talk } from './output.ts';

/** Writes a line for each check on stdout, and on stderr what to do about those that are not accepted. */
export function printChecks(checks: readonly PairCheck[], environment: string): void {
  const rows = checks.map((check) => [check.service, findingOf(check), ...evidence(check)]);
  printTable(['SERVICE', 'FINDING', 'VERSION', 'PROVEN BY', 'CHECKED AT'], rows);
  for (const [advice, about] of Map.groupBy(checks, (check) => adviceOf(check, environment))) {
    if (advice !== undefined) talk(`${about.map(({ service }) => service).join(', ')}: ${advice}`);
  }
}

function evidence(check: PairCheck): readonly string[] {
  if ('failure' in check) return ['-', '-', '-'];
  return [shortVersion(check.version), check.provenBy, new Date(check.checkedAt).toISOString()];
}

/** Enough of a version's id to tell it from its neighbours. */
export function shortVersion(versionId: string | undefined): string {
  return versionId?.slice(0, 8) ?? '-';
}

function adviceOf(check: PairCheck, environment: string): string | undefined {
  const { client } = check;
  if ('failure' in check) return `${check.failure.detail}. ${explain(check.failure.type, { environment, client })}`;
  return ADVICE[check.finding]?.replaceAll('<environment>', environment).replaceAll('<client>', client);
}

const ADVICE: Readonly<Partial<Record<Finding, string>>> = {
  rejected:
    'The service does not accept this version of the credential: store the right one with client put <client>. If the service has mended it on its side, client retry <client> lets it be sent again.',
  throttled:
    'The service asks for patience, or too many rejected versions were tried within the hour: wait before the next check.',
  unreachable: 'The service cannot be reached or is failing, whatever the credential: check again later.',
  misconfigured:
    "The service answers, but not with a token: an operator must check its settings (authUrl, tokenPath, parameters, response). doctor --client <client> --service <name> shows the broker's own words, and client retry <client> lets the credential be sent again at once.",
  'secret-missing':
    'There is no version with this stage in token-broker/<environment>/<client>, it does not name this service (client put <client> --services), or the secret is marked for deletion.',
  'secret-malformed': 'The secret token-broker/<environment>/<client> cannot be used: store it anew with client put.',
  disabled: 'An operator has disabled the client: client enable <client> ends that.',
};
