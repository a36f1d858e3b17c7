import type { Rows } from '../../../config/index.ts';
import type { CoreConfig } from '../../../contract/index.ts';
import { ACCEPTED } from '../accepted.ts';
import { answers } from './answers.ts';
import { checking } from './check.ts';
import { compression } from './compression.ts';
import { connections } from './connections.ts';
import { files } from './files.ts';
import { processes } from './process.ts';
import { requests } from './requests.ts';
import { resolving } from './resolver.ts';
import { structure } from './structure.ts';

/** nginx's core and http core directives. */
export const directives: Rows<CoreConfig> = {
  ...structure,
  ...checking,
  ...processes,
  ...requests,
  ...connections,
  ...answers,
  ...compression,
  ...files,
  ...resolving,
  ...ACCEPTED,
};
