declare module 'dynalite' {
  import type { Server } from 'node:http';

  /** Makes a server that is not listening yet, with its tables in memory. */
  function dynalite(options?: { readonly createTableMs?: number }): Server;
  export = dynalite;
}
