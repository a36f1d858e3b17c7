import type { Deed, LocationFacts, ModuleExplanation, Telling } from '../../contract/index.ts';
import { WHOLE_INVENTORY } from './config.ts';
import type { ControlConfig } from './config.ts';
import type { Endpoint } from './endpoint.ts';
import { ENDPOINTS } from './endpoints.ts';
import { refuse } from './guard.ts';
import { openResources } from './resources.ts';
import type { ControlResources } from './resources.ts';
import { prefixOf } from './routes.ts';

/** Which endpoint would answer. The console's own resources come from the process. */
export const explanation: ModuleExplanation<ControlConfig, ControlResources> = {
  provision: (config, scope) => openResources({ ...config, console: false }, scope),
  tell: ({ api, console }, _resources, { location }) => {
    if (console) return { content: () => ({ does: 'serves the console' }) };
    return api === undefined ? {} : { content: tellEndpoint(api, location) };
  },
};

function tellEndpoint(api: string, location: LocationFacts): Telling {
  const prefix = prefixOf(location);
  const endpointFor = (uri: string): Endpoint | undefined =>
    ENDPOINTS.find(({ name, path }) => (api === WHOLE_INVENTORY ? prefix + path === uri : name === api));
  return (x): Deed | undefined => {
    const endpoint = endpointFor(x.uri);
    if (!endpoint) {
      refuse(x, 404, `unknown endpoint: see ${prefix}describe`);
      return undefined;
    }
    if (x.method !== 'GET' && x.method !== 'HEAD') {
      x.setHeader('Allow', 'GET, HEAD');
      refuse(x, 405, 'method not allowed');
      return undefined;
    }
    return {
      does: `serves the endpoint "${endpoint.name}"`,
      facts: [
        {
          label: 'endpoint',
          value: `${endpoint.description}${endpoint.writes ? ' (it changes something)' : ''}`,
        },
      ],
      unknown: 'what the gateway knows of itself',
    };
  };
}
