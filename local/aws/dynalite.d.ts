declare module 'dynalite' {
  import type { Server } from 'node:http';

  /** Creates a server with its tables in memory. The server does not listen yet. */
  function dynalite(options?: { readonly createTableMs?: number }): Server;
  export = dynalite;
}
