import { MODULE_NAMES } from '../src/pipeline.ts';

/** Where nginx has another name for what a module of ours does. */
const NGINX_NAMES: Readonly<Record<string, string>> = { sub_filter: 'sub' };

/** The lines of `-V` below the version: what gw runs on and what is in it. */
export function buildFacts(): string {
  const { node, v8, openssl } = process.versions;
  return `built with Node.js ${node} (V8 ${v8})
built with OpenSSL ${openssl}
TLS SNI support enabled
configure arguments: ${MODULE_NAMES.map((name) => `--with-http_${NGINX_NAMES[name] ?? name}_module`).join(' ')}
`;
}
