import { connection } from './connection.ts';
import { requests } from './requests.ts';
import { tokens } from './tokens.ts';

/** The directives of `dbrest_*` (contract, `dbrest.md`). */
export const directives = { ...connection, ...tokens, ...requests };
