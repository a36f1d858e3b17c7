import type { Bench } from '../bench.ts';
import { startNginx } from '../nginx.ts';
import { startBareProxy, startHello } from '../peers/index.ts';
import type { Scenario } from '../scenario.ts';
import { type Server, startGw } from '../servers.ts';
import { httpLoad } from '../target.ts';

/** As nginx documents connections to upstreams that are kept, without files for responses; both get it. */
export function proxyTo({ port }: Server, more = ''): { readonly http: string; readonly server: string } {
  return {
    http: `upstream behind { server 127.0.0.1:${port}; keepalive 64; keepalive_requests 1000000000; ${more} }`,
    server: `location / {
        proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection "";
        proxy_set_header Host $host; proxy_set_header X-Real-IP $remote_addr;
        proxy_max_temp_file_size 0;
      }`,
  };
}

/** The upstream of all rows with a small response, whoever is in front of it. */
export function smallUpstream(bench: Bench): Promise<Server> {
  return startNginx(bench, 'location / { return 200 "a small answer"; }');
}

/** Proxying over connections that are kept, to the same nginx behind both. */
export const proxiedText: Scenario = {
  name: 'proxy',
  async open(bench) {
    const upstream = await smallUpstream(bench);
    const content = proxyTo(upstream);
    const load = (name: string, { port, pid }: Server) =>
      httpLoad(bench, { name, port, requests: [{ path: '/' }], servers: [pid] });
    return {
      subject: load('gw proxy', await startGw(bench, content)),
      peers: [
        {
          line: 'proxy, small response / nginx',
          goal: 0.75,
          aim: 0.9,
          open: async () => load('nginx proxy', await startNginx(bench, content)),
        },
        {
          line: 'proxy, small response / bare relay to sockets of Node.js',
          open: async () => load('bare proxy', await startBareProxy(bench, upstream.port)),
        },
      ],
    };
  },
};

/** The same with active checks, beside gw without them. */
export const checkedProxy: Scenario = {
  name: 'checks',
  async open(bench) {
    const upstream = await smallUpstream(bench);
    const open = async (name: string, more: string) => {
      const { port, pid } = await startGw(bench, proxyTo(upstream, more));
      return httpLoad(bench, { name, port, requests: [{ path: '/' }], servers: [pid] });
    };
    return {
      subject: await open('gw proxy with checks', 'health_check interval=1s;'),
      peers: [
        {
          line: 'proxy with active checks / without',
          goal: 0.95,
          open: () => open('gw proxy without checks', ''),
        },
      ],
    };
  },
};

/** A FastCGI program over connections that are kept, the same behind both. */
export const fastcgiHello: Scenario = {
  name: 'fastcgi',
  async open(bench) {
    const { port: behind } = await startHello(bench, 'fastcgi');
    const content = {
      http: `upstream behind { server 127.0.0.1:${behind}; keepalive 64; keepalive_requests 1000000000; }`,
      server: `location / {
        fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name; fastcgi_param QUERY_STRING $query_string;
        fastcgi_param REQUEST_METHOD $request_method; fastcgi_param CONTENT_TYPE $content_type;
        fastcgi_param CONTENT_LENGTH $content_length; fastcgi_param SCRIPT_NAME $fastcgi_script_name;
        fastcgi_param REQUEST_URI $request_uri; fastcgi_param DOCUMENT_URI $document_uri;
        fastcgi_param DOCUMENT_ROOT $document_root; fastcgi_param SERVER_PROTOCOL $server_protocol;
        fastcgi_param REMOTE_ADDR $remote_addr; fastcgi_param SERVER_PORT $server_port; fastcgi_param SERVER_NAME $server_name;
        fastcgi_keep_conn on; fastcgi_max_temp_file_size 0; fastcgi_pass behind;
      }`,
    };
    const load = (name: string, { port, pid }: Server) =>
      httpLoad(bench, { name, port, requests: [{ path: '/' }], servers: [pid] });
    return {
      subject: load('gw fastcgi', await startGw(bench, content)),
      peers: [
        {
          line: 'FastCGI hello / nginx',
          goal: 0.5,
          open: async () => load('nginx fastcgi', await startNginx(bench, content)),
        },
      ],
    };
  },
};
