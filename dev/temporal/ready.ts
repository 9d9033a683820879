import { connect } from 'node:http2';

const callWaitMs = 1000;

/** Whether the Temporal server on this loopback port serves the namespace: one hand-written gRPC call, no client library. */
export function hasNamespace(port: number, namespace: string): Promise<boolean> {
  return new Promise((resolve) => {
    const session = connect(`http://127.0.0.1:${port}`);
    const timer = setTimeout(() => end(false), callWaitMs);
    const end = (answer: boolean) => {
      clearTimeout(timer);
      session.destroy();
      resolve(answer);
    };
    session.on('error', () => end(false));
    const call = session.request({
      ':method': 'POST',
      ':path': '/temporal.api.workflowservice.v1.WorkflowService/DescribeNamespace',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    call.on('error', () => end(false));
    call.on('response', (headers) => 'grpc-status' in headers && end(headers['grpc-status'] === '0'));
    call.on('trailers', (trailers) => end(trailers['grpc-status'] === '0'));
    call.resume();
    call.end(message(namespace));
  });
}

/** A gRPC frame with a protobuf message whose field 1 is the text. */
function message(text: string): Uint8Array {
  const field = new TextEncoder().encode(text);
  return Uint8Array.of(0, 0, 0, 0, field.length + 2, 0x0a, field.length, ...field);
}
