import type { Database } from '../../db/client.js';
import { expireIfDue } from '../../db/expire-onboarding.js';
import type { TestApi } from '../support/api.js';
import { interactionOf, slackPost } from './slack-calls.js';

/** Submissions of the modals of onboarding, without a Slack in which they were opened. */
export function onboardingPosts(api: TestApi) {
  const database = (): Database => api.services.database;
  let views = 0;

  async function submit(callbackId: string, user: string, id: string, values: object): Promise<void> {
    views += 1;
    const view = { id: `V${views}`, callback_id: callbackId, private_metadata: id, state: { values } };
    const payload = { type: 'view_submission', user: { id: user, name: user.toLowerCase() }, view };
    const { text } = await slackPost(api, 'interactions', interactionOf(payload));
    if (text !== '') throw new Error(text);
  }

  return {
    async join(user: string): Promise<string> {
      await submit('svc_onboarding', user, '', { reason_block: { reason_input: { value: 'on call' } } });
      const text = `select id from slack_onboardings where slack_user_id = $1 and status = 'pending'`;
      const [row] = await database().query<{ id: string }>(text, [user]);
      return row!.id;
    },
    review: (id: string, by: string, { decision, comment }: { decision: 'approve' | 'reject'; comment: string }) =>
      submit('svc_onboarding_review_submit', by, id, {
        decision_block: { decision_input: { selected_option: { value: decision } } },
        comment_block: { comment_input: { value: comment } },
      }),
    async expire(id: string): Promise<void> {
      await database().query(`update slack_onboardings set expires_at = clock_timestamp() - interval '1 ms' where id = $1`, [id]);
      await database().transaction((tx) => expireIfDue(tx, id, { tellsApplicant: true }));
    },
  };
}
