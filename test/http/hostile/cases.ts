import type { HostileCase } from './case.ts';
import { engineCases } from './engine.ts';
import { encodings, headers, hosts, lengths } from './framing.ts';
import { methods, targets } from './request-line.ts';
import { behindRefused, chunks, injection, withoutBody } from './smuggling.ts';

/** The corpus: guards 1–8, 10 and 11 by raw bytes. Guards 9 and 12–14 need more than bytes: `patience.test.ts`. */
export const hostileCases: readonly HostileCase[] = [
  ...methods,
  ...targets,
  ...hosts,
  ...lengths,
  ...encodings,
  ...headers,
  ...behindRefused,
  ...chunks,
  ...withoutBody,
  ...injection,
  ...engineCases,
];
