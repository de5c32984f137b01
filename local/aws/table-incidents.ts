/** The incidents that the broker's table can play in a rehearsal, by name. `recover` ends an incident. */
export const TABLE_INCIDENTS: Readonly<Record<string, TableIncident>> = {
  'table-down': { says: 'the table answers no call' },
  'table-busy': { says: 'the table throttles every call', error: 'ThrottlingException' },
  'table-denied': { says: 'the table refuses every call, as without a right', error: 'AccessDeniedException' },
  recover: { says: 'the table works again', works: true },
};

export interface TableIncident {
  /** A description of the table's behaviour during the incident. */
  readonly says: string;
  /** The error of AWS that answers every call. Without an error, no call is answered. */
  readonly error?: string;
  readonly works?: true;
}
