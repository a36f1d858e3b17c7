import { ON_NODE_ENGINE } from '../../harness/engine.ts';
import type { HostileCase } from './case.ts';
import { engineCases } from './engine.ts';
import { encodings, headers, hosts, lengths, singles } from './framing.ts';
import { nodeCases, onNode } from './node-engine.ts';
import { methods, targets } from './request-line.ts';
import { behindRefused, chunks, injection, withoutBody } from './smuggling.ts';

/** Guards 1–8, 10 and 11 by raw bytes. Guards 9 and 12–14 need more than bytes: `patience.test.ts`. */
const sharedCases: readonly HostileCase[] = [
  ...methods,
  ...targets,
  ...hosts,
  ...singles,
  ...lengths,
  ...encodings,
  ...headers,
  ...behindRefused,
  ...chunks,
  ...withoutBody,
  ...injection,
];

/** The corpus for the engine that is tested. */
export const hostileCases = ON_NODE_ENGINE
  ? [...sharedCases.map(onNode), ...nodeCases]
  : [...sharedCases, ...engineCases];
