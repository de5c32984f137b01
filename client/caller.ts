/** The AWS role that signs the requests, as the broker knows it. */
export interface Caller {
  /** `arn:aws:iam::<account>:role/<name>`: a role arrives without its path. */
  readonly role: string;
  readonly account: string;
  /** The access rules that name the role; one that allows a call is enough. */
  readonly rules: readonly CallerRule[];
  /** Names all access rules in force, as the audit lines do; only for a role that one of them names. */
  readonly rulesDigest?: string | undefined;
}

/** The operations, clients and services that one rule allows. */
export interface CallerRule {
  readonly clients: readonly string[] | 'all';
  readonly services: readonly string[] | 'all';
  /** `token` and `check`. */
  readonly operations: readonly string[];
}

/** One rule in a few words: `token for acme on all services`. */
export function ruleText({ clients, services, operations }: CallerRule): string {
  const whom = clients === 'all' ? 'all clients' : clients.join(', ');
  const where = services === 'all' ? 'all services' : services.join(', ');
  return `${operations.join(', ')} for ${whom} on ${where}`;
}
