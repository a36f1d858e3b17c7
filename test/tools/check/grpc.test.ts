import { testRule } from './findings-in.ts';

const CALLS = 'location / { grpc_pass 127.0.0.1:50051; }';
const UNREACHABLE = 'gRPC clients cannot use it: the server only supports HTTP/1.1';

testRule('grpc-without-http2', [
  { it: 'finds a server with HTTP/1.1 alone', text: CALLS, says: [UNREACHABLE] },
  { it: 'finds HTTP/2 that is off', text: `http2 off; ${CALLS}`, says: [UNREACHABLE] },
  { it: 'accepts "http2 on"', text: `http2 on; ${CALLS}` },
  {
    it: 'finds a port whose engine is uWebSockets.js',
    in: 'http',
    text: `server { listen 127.0.0.1:80 engine=uws; http2 on; ${CALLS} }`,
    says: [UNREACHABLE],
  },
  { it: 'accepts "http2 on" of all servers', in: 'http', text: `http2 on; server { listen 80; ${CALLS} }` },
  {
    it: 'accepts "listen ... http2" of another server',
    in: 'http',
    text: `server { listen 80; server_name a; ${CALLS} } server { listen 80 http2 default_server; server_name b; return 404; }`,
  },
]);

const web = (text: string): string => `location / { ${text} proxy_pass http://127.0.0.1:9000; }`;

testRule('connection-header-in-http2', [
  {
    it: 'finds headers of a level above, once',
    text: `proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; ${web('proxy_http_version 2;')}`,
    says: ['"Upgrade" is never sent over HTTP/2', '"Connection" is never sent over HTTP/2'],
  },
  {
    it: 'accepts a header that is taken away',
    text: web('proxy_http_version 2; proxy_set_header Connection "";'),
  },
  { it: 'accepts HTTP/1.1', text: web('proxy_http_version 1.1; proxy_set_header Connection close;') },
]);
