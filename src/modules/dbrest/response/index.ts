import type { LocationFacts } from '../../../contract/index.ts';
import type { Exchange } from '../../../http/index.ts';
import type { DbrestConfig } from '../directives/index.ts';
import { apiFacts } from '../openapi/index.ts';
import type { RunPlan } from '../sql/index.ts';
import { respondToCall } from './call.ts';
import { Documents, respondToDescribe } from './describe.ts';
import type { OpenResponse, ResponseParts } from './head.ts';
import { respondToRead } from './read.ts';
import { compileTagging } from './tagging.ts';
import { respondToWrite } from './write.ts';

export { compileCors } from './cors.ts';
export { respondToOptions } from './describe.ts';
export { asPreferred, faultOf, isServerError, sendFault } from './error.ts';
export { type OpenResponse, Stopwatch } from './head.ts';

interface OpenedParts extends Omit<ResponseParts, 'config' | 'tagging'> {
  /** The response is made for a cache. */
  readonly isStored: boolean;
}

/** Compiles the responses of a location. The returned function opens a response before its statements run. */
export function compileResponse(
  config: DbrestConfig,
  location: LocationFacts,
): (x: Exchange, plan: RunPlan, given: OpenedParts) => OpenResponse {
  const documents = new Documents(config, apiFacts(config, location));
  const { reads, stored, written } = compileTagging(config);
  return (x, plan, { statements, stopwatch, held, isStored }) => {
    const tagging = plan.kind === 'write' ? written : isStored ? stored : reads;
    const parts = { config, statements, stopwatch, held, tagging };
    switch (plan.kind) {
      case 'read':
        return respondToRead(x, plan, parts);
      case 'write':
        return respondToWrite(x, plan, parts);
      case 'call':
        return respondToCall(x, plan, parts);
      case 'describe':
        return respondToDescribe(x, plan, { ...parts, documents });
    }
  };
}
