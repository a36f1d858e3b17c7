import type { Rows } from '../../../config/index.ts';
import { forwardingDirectives, tlsDirectives } from '../../../forwarding/index.ts';
import type { ProxyConfig } from '../config.ts';
import { responseDirectives } from './responses.ts';
import { requestDirectives } from './requests.ts';

/** nginx's proxy module. */
export const directives: Rows<ProxyConfig> = {
  ...requestDirectives,
  ...forwardingDirectives('proxy', {
    hide_header: 'Date, Server, X-Pad and X-Accel-*',
    cache_key: '$scheme$proxy_host$request_uri',
  }),
  ...tlsDirectives('proxy', { ssl_name: '$proxy_host' }),
  ...responseDirectives,
};

export { parseTarget } from './requests.ts';
