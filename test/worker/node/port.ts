import type { PortHandler } from '../../../src/compile/index.ts';
import type { ResponseRules } from '../../../src/http/index.ts';

const HEAD: PortHandler['head'] = {
  lineBytes: 8192,
  bytes: 32_768,
  fieldBytes: 8192,
  fieldsBytes: 32_768,
  timeoutMs: 1000,
  underscores: false,
  ignoresInvalid: true,
  maxHeaders: 1000,
  mergeSlashes: true,
};

/** A port with the settings that concern heads of requests. */
export function portOf(head: Partial<PortHandler['head']> = {}): PortHandler {
  return {
    key: 'test',
    serverName: '',
    address: { kind: 'inet', host: '127.0.0.1', port: 1 },
    facts: { scheme: 'http', port: 1, address: '127.0.0.1' },
    engine: 'node',
    proxyProtocol: false,
    needs: { headers: new Set(), allHeaders: true, peer: false },
    usage: { inFlight: 0 },
    enter: () => undefined,
    enterByLine: () => undefined,
    serve: () => undefined,
    rules: {} as ResponseRules,
    head: { ...HEAD, ...head },
    headLimits: { ...HEAD, ...head },
  };
}
