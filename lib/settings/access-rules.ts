import { z } from 'zod';
import { ROLE_ARN, roleArnFault } from '../../functions/vocabulary.ts';
import { partitionOf } from './regions.ts';
import { type Fault, like, listOf, nameFault, text } from './schema.ts';

const notEmpty = { error: 'must not be empty' };

const namesOrAll = z.union([z.literal('all'), listOf(text(listedNameFault)).min(1, notEmpty)], {
  error: ({ input }) => (input === undefined ? 'is missing' : "must be 'all' or a list of names"),
});

/** A rule: the role, and the clients and services for which it may act. */
export const accessRuleSchema = z.strictObject({
  role: text(roleArnFault),
  // Denies a role that was deleted and created again under the same name. `aws iam get-role` shows the id as RoleId.
  roleId: like(/^AROA[A-Z0-9]{12,124}$/, 'must be the unique id of a role: AROA…').optional(),
  clients: namesOrAll,
  services: namesOrAll,
  operations: listOf(z.enum(['token', 'check']))
    .min(1, notEmpty)
    .default(['token']),
});

function listedNameFault(name: string): string | undefined {
  return name === 'all' ? "must stand alone, not in a list: 'all'" : nameFault(name);
}

/**
 * Returns the contradictions between valid access rules, and between a rule and the services and region of its
 * environment. The schema finds the faults within a rule.
 */
export function accessRuleFaults(settings: unknown): readonly Fault[] {
  const { region, services, accessRules } = readable.parse(settings);
  const known = Object.keys(services);
  const partition = partitionOf(region);
  const firstOf = new Map<string, { readonly index: number; readonly arn: string }>();

  return accessRules.flatMap((input, index) => {
    const { data: rule } = accessRuleSchema.safeParse(input);
    const role = parseRoleArn(rule?.role ?? '');
    if (rule === undefined || role === undefined) return [];
    const at = (...path: PropertyKey[]) => ['accessRules', index, ...path];
    const faults: Fault[] = (rule.services === 'all' ? [] : rule.services).flatMap((service, place) =>
      known.length === 0 || known.includes(service)
        ? []
        : [{ path: at('services', place), reason: `is not one of the services (${known.join(', ')})` }],
    );
    // The identity of a caller omits the path of its role, so the broker could not distinguish the roles.
    const first = firstOf.get(JSON.stringify(role)) ?? { index, arn: rule.role };
    firstOf.set(JSON.stringify(role), first);
    if (first.arn !== rule.role) {
      const reason = `differs only by its path from the role of accessRules[${first.index}], which the broker cannot see`;
      faults.push({ path: at('role'), reason });
    }
    // A role signs for its own partition only, so a rule of another partition would never apply.
    if (region !== '' && role.partition !== partition) {
      faults.push({ path: at('role'), reason: `must start with arn:${partition}: like the region's own` });
    }
    return faults;
  });
}

/** Extracts the readable part of settings that may be wrong anywhere. */
const readable = z
  .object({
    region: z.string().catch(''),
    services: z.record(z.string(), z.unknown()).catch({}),
    accessRules: z.array(z.unknown()).catch([]),
  })
  .catch({ region: '', services: {}, accessRules: [] });

/**
 * Parses `arn:aws:iam::<account>:role/<path/><name>` into the parts that the identity of a caller contains. Returns
 * `undefined` for anything else, see `roleArnFault`.
 */
export function parseRoleArn(arn: string) {
  const [, partition, account, name] = ROLE_ARN.exec(arn) ?? [];
  if (partition === undefined || account === undefined || name === undefined) return undefined;
  return { partition, account, name };
}

/** Returns the accounts whose roles the access rules name, without duplicates. */
export function callerAccounts(accessRules: readonly { readonly role: string }[]): readonly string[] {
  const accounts = accessRules.map(({ role }) => parseRoleArn(role)?.account ?? '');
  return [...new Set(accounts)].toSorted();
}

/**
 * The number of accounts that fit into the alias's policy of 20 480 bytes, with two statements for each account.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */
export const MAX_CALLER_ACCOUNTS = 25;

/** The prefix of the metadata keys that list a role's access. `npm run diff` searches for it. */
export const ACCESS_KEY = 'Access of ';

/** Lists access by role, then by operation and service, for the template. The code asset shows only another hash. */
export function listAccess(rules: readonly z.output<typeof accessRuleSchema>[]) {
  const access: Record<string, Record<string, readonly string[]>> = {};
  for (const { role, clients, services, operations } of rules) {
    const own = access[`${ACCESS_KEY}${role}`] ?? {};
    access[`${ACCESS_KEY}${role}`] = own;
    for (const operation of operations) {
      for (const service of services === 'all' ? ['all services'] : services) {
        const what = `${operation} on ${service}`;
        own[what] = [...new Set([...(own[what] ?? []), ...(clients === 'all' ? ['all'] : clients)])].toSorted();
      }
    }
  }
  return access;
}
