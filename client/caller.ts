/** The AWS role that signs the requests, as the broker identifies it. */
export interface Caller {
  /** `arn:aws:iam::<account>:role/<name>`, without the role's path. */
  readonly role: string;
  readonly account: string;
  /** The access rules that name the role. A call needs only a single rule that allows it. */
  readonly rules: readonly CallerRule[];
  /** The digest of all access rules in force, as in audit lines. Present only for a role that a rule names. */
  readonly rulesDigest?: string | undefined;
}

/** The operations, clients and services that a rule allows. */
export interface CallerRule {
  readonly clients: readonly string[] | 'all';
  readonly services: readonly string[] | 'all';
  /** `token` and `check`. */
  readonly operations: readonly string[];
}

/** Returns a rule in words: `token for acme on all services`. */
export function ruleText({ clients, services, operations }: CallerRule): string {
  const whom = clients === 'all' ? 'all clients' : clients.join(', ');
  const where = services === 'all' ? 'all services' : services.join(', ');
  return `${operations.join(', ')} for ${whom} on ${where}`;
}
