package api

import (
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

func secs(d time.Duration) float64 { return d.Seconds() }

const (
	queueName  = `^[A-Za-z0-9-][A-Za-z0-9._-]*$`
	plainName  = `^[A-Za-z0-9._-]+$`
	eventName  = `^[A-Za-z0-9_-]+$`
	headerText = "At most 20 headers of together 8 KiB."
)

// fields say what each member of a request or an answer is, by its name; by "shape.name" or "call.name" where it means something of its own
// there. Where the server has a limit as a constant it is that one; TestLimits holds the others against it.
var fields = map[string]field{
	"idempotency_key": {says: "The idempotency key, here or in the header Idempotency-Key. The same key again is answered with the first answer.", shortest: 1, longest: queue.MaxKey, pattern: `^[ -~]+$`},

	// queues
	"queue":                      {says: "The queue's name."},
	"name":                       {says: "Its name.", pattern: queueName},
	"queue.create.name":          {says: "The queue's name.", pattern: queueName, shortest: 1, longest: 76},
	"type":                       {says: "Whether order within a group is kept.", enum: []string{"standard", "fifo"}},
	"queue.create.type":          {says: "Whether order within a group is kept.", enum: []string{"standard"}, standard: "standard"},
	"dlq":                        {says: "Its dead-letter queue: NAME-dlq unless it is named. An existing one may be shared.", pattern: queueName, shortest: 1, longest: 80},
	"Queue.dlq":                  {says: "Its dead-letter queue; null for one that is itself a dead-letter queue.", null: true},
	"dead_letter_queue":          {says: "Another name of dlq.", pattern: queueName, shortest: 1, longest: 80},
	"is_dlq":                     {says: "Whether it is a dead-letter queue."},
	"max_receive_count":          {says: "How many receives may end with nothing recorded before the message is dead-lettered.", min: 1, max: queue.MaxMaxReceives, standard: queue.DefaultMaxReceives},
	"Queue.max_receive_count":    {says: "How many receives may end with nothing recorded before the message is dead-lettered; null for a dead-letter queue, which dead-letters nothing.", null: true},
	"max_retries":                {says: "Another name of max_receive_count.", min: 1, max: queue.MaxMaxReceives},
	"visibility_timeout_default": {says: "How long a lease is if consume does not say, in seconds.", min: 1, max: secs(queue.MaxVisibility), standard: secs(queue.DefaultVisibility)},
	"message_retention_days":     {says: "How long a message is kept from when it is first due.", min: 1, max: 30, standard: 30},
	"dedup_window_seconds":       {says: "How long a publish key is remembered.", min: secs(queue.MinDedupWindow), max: secs(queue.MaxDedupWindow), standard: secs(queue.DefaultDedupWindow)},
	"content_dedup":              {says: "Whether the payload's canonical hash is the key of a publish that has none.", standard: false},
	"require_receipt":            {says: "Whether acts by message_id alone are refused.", standard: false},
	"enable_priority":            {says: "Accepted; priorities are always on.", standard: true},
	"paused":                     {says: "Whether consume answers an empty list while publishing goes on."},
	"confirm":                    {says: "The queue's name once more: what is purged is gone."},
	"purged":                     {says: "How many messages are gone, those in flight included."},
	"deleted":                    {says: "True: it is gone."},

	// messages
	"message_id":                            {says: "The message's id; of an act it stands for the newest receipt, whoever has it."},
	"receipt_handle":                        {says: "The lease's handle, as consume gave it. Only the newest one acts."},
	"payload":                               {says: "Any JSON, of at most 262,144 bytes as sent; its bytes are kept as they came."},
	"webhooks.events.send.payload":          {says: "Any JSON, of at most 1 MiB; it is sent byte for byte."},
	"Event.payload":                         {says: "The bytes that came."},
	"body":                                  {says: "Another name of payload."},
	"delay_seconds":                         {says: "How long until it can be received, in seconds; below the queue's retention.", min: 0, max: secs(queue.MaxDelay), standard: 0},
	"queue.nack.delay_seconds":              {says: "How long until it can be received again. Absent: 2^(delivery_count - 1) seconds, at most 300.", min: 0, max: secs(queue.MaxDelay)},
	"queue.nack_batch.delay_seconds":        {says: "How long until it can be received again. Absent: 2^(delivery_count - 1) seconds, at most 300.", min: 0, max: secs(queue.MaxDelay)},
	"priority":                              {says: "9 goes first.", min: 0, max: queue.MaxPriority, standard: 0},
	"headers":                               {says: "Text to go with the payload. " + headerText},
	"message_group_id":                      {says: "The group whose turn the message waits for: groups take turns, so that none crowds out another.", shortest: 1, longest: queue.MaxGroupID, pattern: `^[ -~]+$`},
	"Message.message_group_id":              {says: "Its group.", null: true},
	"origin_at":                             {says: "When the work began; now, unless it is given."},
	"status":                                {says: "Where the message is.", enum: []string{string(queue.Available), string(queue.Delayed), string(queue.InFlight), string(queue.Dead)}},
	"Settled.status":                        {says: "Where the message is now; null if nothing changed.", null: true},
	"delivery_count":                        {says: "How many receives ended with nothing recorded, the present one included."},
	"published_at":                          {says: "When it was published."},
	"visible_at":                            {says: "When it can be received, or could."},
	"Settled.visible_at":                    {says: "When it can be received again; null if nothing changed.", null: true},
	"visible_until":                         {says: "When its lease is over."},
	"Extended.visible_until":                {says: "When its lease is over; null if nothing changed.", null: true},
	"dead_lettered_at":                      {says: "When it was dead-lettered.", null: true},
	"source_queue":                          {says: "The queue it was dead-lettered from.", null: true},
	"last_error":                            {says: "What its last failure said.", null: true},
	"max_messages":                          {says: "The most messages to hand out; an answer ends early at 8 MiB.", min: 1, max: queue.MaxBatch, standard: 1},
	"visibility_timeout":                    {says: "How long the lease is, in seconds; the queue's own if it is not given.", min: 1, max: secs(queue.MaxVisibility)},
	"queue.extend.visibility_timeout":       {says: "How long from now the lease is to be, in seconds; 0 ends it, counted.", min: 0, max: secs(queue.MaxVisibility)},
	"queue.extend_batch.visibility_timeout": {says: "How long from now the lease is to be, in seconds; 0 ends it, counted.", min: 0, max: secs(queue.MaxVisibility)},
	"wait_seconds":                          {says: "How long to wait for something if there is nothing.", min: 0, max: secs(queue.MaxWait), standard: 0},
	"messages":                              {says: "The messages, each an answer or an error of its own.", longest: queue.MaxBatch},
	"items":                                 {says: "The items."},
	"requeue":                               {says: "False dead-letters the message now.", standard: true},
	"error":                                 {says: "What went wrong, for people; its first 4,096 bytes are kept.", null: true},
	"queue.nack.error":                      {says: "What went wrong, for people; its first 4,096 bytes are kept."},
	"queue.nack_batch.error":                {says: "What went wrong, for people; its first 4,096 bytes are kept."},
	"acked":                                 {says: "Whether it was."},
	"nacked":                                {says: "Whether it was."},
	"released":                              {says: "Whether it was."},
	"extended":                              {says: "Whether it was."},
	"reason":                                {says: "Why, for those who look at it later.", longest: maxNote},
	"Settled.reason":                        {says: "Why nothing changed: lease_lost (a newer lease acts) or not_in_flight (by message_id: it has no open receipt).", null: true},
	"idempotent_replay":                     {says: "Whether this is the answer to an earlier call under the same key."},
	"message_count":                         {says: "Available, in flight and delayed together, the dead-letter queue not included."},
	"available_count":                       {says: "Those that can be received."},
	"in_flight_count":                       {says: "Those that are leased."},
	"delayed_count":                         {says: "Those whose time has not come."},
	"dlq_count":                             {says: "Those in the dead-letter queue that came from this one."},
	"oldest_message_age_seconds":            {says: "Since the oldest was published; 0 if there is none."},
	"next_cursor":                           {says: "Where the next page begins; null at the end.", null: true},

	// redrives
	"redrive_id":                     {says: "The redrive's id."},
	"Redrive.queue":                  {says: "The queue that the messages go back to; null for webhook deliveries.", null: true},
	"state":                          {says: "How far it is."},
	"Redrive.state":                  {says: "Whether it still runs.", enum: []string{"running", "completed", "cancelled"}},
	"dry_run":                        {says: "Counts what would move, and moves nothing.", standard: false},
	"rate_per_second":                {says: "The most to move in a second, over all servers; as fast as it goes if it is not given.", above: 0, max: maxRate},
	"Redrive.rate_per_second":        {says: "The most it moves in a second; null: as fast as it goes.", null: true},
	"total":                          {says: "What it is about: moved, left and remaining together."},
	"moved":                          {says: "What went back."},
	"left":                           {says: "What stays where it is."},
	"remaining":                      {says: "What is still to be looked at."},
	"created_at":                     {says: "When it was made."},
	"finished_at":                    {says: "When it ended.", null: true},
	"queue.dlq.redrive.max_messages": {says: "The most to move; all that is there if it is not given.", min: 1, max: 1 << 53},
	"message_ids":                    {says: "Which to move; all that is there if it is not given.", shortest: 1, longest: queue.MaxBatch},
	"canary_delivery_id":             {says: "The delivery that went first.", null: true},
	"RedrivePart.state":              {says: "How far it is with this endpoint.", enum: []string{"waiting", "canary", "open", "ended", "refused", "disabled", "deleted", "cancelled"}},

	// endpoints
	"endpoint_id":                       {says: "The endpoint's id."},
	"url":                               {says: "Where the POST goes: https, unless the server allows http.", shortest: 1, longest: 2048},
	"tenant":                            {says: "Your customer: an event goes only to endpoints of its own tenant.", pattern: plainName, shortest: 1, longest: 128},
	"Endpoint.tenant":                   {says: "Your customer; null: none.", null: true},
	"Delivery.tenant":                   {says: "Your customer; null: none.", null: true},
	"Event.tenant":                      {says: "Your customer; null: none.", null: true},
	"event_types":                       {says: "The event types that it wants: exact names, prefix.* or *. Absent: all.", shortest: 1, longest: 100},
	"description":                       {says: "For people, at most 1,024 bytes.", longest: 1024},
	"webhooks.endpoints.create.headers": {says: "Headers to send with each delivery. " + headerText},
	"webhooks.endpoints.update.headers": {says: "Headers to send with each delivery. " + headerText},
	"Endpoint.headers":                  {says: "Headers sent with each delivery."},
	"secret":                            {says: "whsec_ and the base64 of 24 to 64 bytes; made if it is not given.", pattern: `^whsec_`},
	"EndpointSecret.secret":             {says: "The secret to verify signatures with, shown this once; null where the answer is a replay.", null: true},
	"timeout_seconds":                   {says: "How long an attempt may take.", min: 1, max: 30, standard: secs(webhook.DefaultTimeout)},
	"retry_ladder":                      {says: "The waits between attempts, in seconds.", longest: 20, each: &field{min: 1, max: 604800}, standard: []int{30, 120, 600, 3600, 21600, 86400}},
	"retry_4xx":                         {says: "Whether a 4xx is tried again; 408, 409, 425 and 429 always are.", standard: true},
	"policy":                            {says: "idempotent: the receiver knows our key, so that an ambiguous attempt is repeated. once: it is not, and waits for a person.", enum: []string{string(ledger.Idempotent), string(ledger.Once)}, standard: string(ledger.Idempotent)},
	"receiver_window_seconds":           {says: "How long the receiver remembers our key; null: for ever.", min: 1, max: 315360000, null: true},
	"max_in_flight":                     {says: "The most deliveries under way at a time, over all servers.", min: 1, max: 1000, standard: webhook.DefaultMaxInFlight},
	"webhooks.endpoints.create.rate_per_second": {says: "The most deliveries begun in a second; null: no limit.", above: 0, max: maxRate, null: true},
	"webhooks.endpoints.update.rate_per_second": {says: "The most deliveries begun in a second; null: no limit.", above: 0, max: maxRate, null: true},
	"Endpoint.rate_per_second":                  {says: "The most deliveries begun in a second; null: no limit.", null: true},
	"disabled":                                  {says: "Whether what is for it waits."},
	"disabled_reason":                           {says: "Why; null if it is not.", null: true},
	"updated_at":                                {says: "When it was last changed."},
	"webhooks.endpoints.update.tenant":          {says: "The endpoint's own: it never changes."},
	"webhooks.endpoints.update.secret":          {says: "Refused: rotate_secret changes it."},
	"webhooks.redrive.tenant":                   {says: "Only what is of this tenant.", shortest: 1},
	"grace_seconds":                             {says: "How long the former secret signs beside the new one.", min: 0, max: secs(webhook.MaxGrace), standard: secs(webhook.DefaultGrace)},

	// events and deliveries
	"event_id":            {says: "The event's id, unique in its project; made if it is not given.", pattern: eventName, shortest: 1, longest: 255},
	"event_type":          {says: "The event's type.", pattern: plainName, shortest: 1, longest: 128},
	"subject":             {says: "Whose data it is, at most 255 bytes.", longest: 255},
	"Delivery.subject":    {says: "Whose data it is; null: nobody's.", null: true},
	"Event.subject":       {says: "Whose data it is; null: nobody's.", null: true},
	"endpoint_ids":        {says: "The endpoints to send to, subscribed or not; every subscriber if it is not given.", shortest: 1, longest: 1000},
	"deliveries":          {says: "What the event made, for whom; empty if nobody wants it."},
	"delivery_id":         {says: "The delivery's id."},
	"Delivery.state":      {says: "pending, sending and retrying go on by themselves; failed: certainly not delivered; stuck: nobody can know.", enum: stateNames},
	"SentTo.state":        {says: "The delivery's state.", enum: stateNames},
	"delivery_key":        {says: "What the receiver gets as Idempotency-Key: the same on every attempt, resend and redrive."},
	"next_attempt_at":     {says: "When it is tried next; null: not by itself.", null: true},
	"delivered_at":        {says: "When it was delivered.", null: true},
	"attempts":            {says: "What was tried, the first one first."},
	"attempt_id":          {says: "The attempt's id."},
	"attempt":             {says: "Its number, from 1; it never begins anew."},
	"cause":               {says: "Why it was made.", enum: []string{"event", "retry", "resend", "redrive", "canary"}},
	"started_at":          {says: "When it began."},
	"Attempt.finished_at": {says: "When it ended; null while it is under way.", null: true},
	"outcome":             {says: "What became of it.", enum: []string{"delivered", "refused", "unknown", "not_sent"}},
	"class":               {says: "definite: it was not done. permanent: it never will be. ambiguous: nobody can know. null: delivered.", null: true},
	"status_code":         {says: "The receiver's status; null: none came.", null: true},
	"latency_ms":          {says: "How long the answer took.", null: true},
	"response_start":      {says: "How the receiver's answer begins.", null: true},
	"new_key":             {says: "Send it under a new key, as something that the receiver has not seen.", standard: false},
	"as":                  {says: "What a person knows of it.", enum: []string{"delivered", "retry", "failed"}},
	"note":                {says: "Why, for those who look at it later.", longest: maxNote},
	"states":              {says: "failed, stuck or both; of stuck ones only those go whose policy is idempotent.", shortest: 1, each: &field{enum: []string{"failed", "stuck"}}, standard: []string{"failed"}},
	"from":                {says: "Only what was made from then on."},
	"to":                  {says: "Only what was made before then."},
	"max":                 {says: "The most to move; all if it is not given.", min: 1, max: 1 << 53},
	"canary":              {says: "Whether one goes first per endpoint, and a refused one ends that endpoint's part.", standard: true},

	// projects and keys
	"project_id":           {says: "The project's id; of a call, the caller's own if it is not given."},
	"projects.create.name": {says: "The project's name.", pattern: plainName, shortest: 1, longest: 128},
	"Project.name":         {says: "Its name."},
	"key_id":               {says: "The key's id."},
	"keys.create.name":     {says: "For people: at most 128 bytes of printable text.", longest: 128},
	"Key.name":             {says: "For people.", null: true},
	"scopes":               {says: "What the key may do.", shortest: 1, each: &field{enum: []string{"publish", "consume", "webhooks", "read", "admin", "root"}}},
	"expires_at":           {says: "When it ends; null: never.", null: true},
	"revoked_at":           {says: "When it was revoked.", null: true},
	"KeySecret.key":        {says: "The key itself, shown this once; null where the answer is a replay.", null: true},

	// discovery
	"capabilities":       {says: "The calls."},
	"capability.id":      {says: "The capability's id: it is never changed."},
	"capability.summary": {says: "What it does."},
	"method":             {says: "The method."},
	"path":               {says: "The path; what stands in braces is to be put there."},
	"available":          {says: "Whether this server has it."},
	"billing":            {says: "What it costs; replays and redeliveries are free."},
	"request_schema":     {says: "The JSON Schema of its body; null: it takes none.", null: true},
	"response_schema":    {says: "The JSON Schema of its data."},
	"metered":            {says: "Whether it costs anything at a price above 0."},
	"unit":               {says: "What is counted.", null: true},
	"price_usd":          {says: "The price of a unit, in US dollars."},

	// every answer
	"ok":                  {says: "Whether the call was done."},
	"code":                {says: "The kind of failure: programs go by it.", enum: codeNames()},
	"message":             {says: "What is wrong, with which value, and what the limit is."},
	"hint":                {says: "What to do about it.", null: true},
	"field":               {says: "The JSON pointer of the field at fault.", null: true},
	"request_id":          {says: "The call's id, also in the header X-Request-Id."},
	"Metadata.latency_ms": {says: "How long the server took for it, in milliseconds."},
	"cost_usd":            {says: "What the call cost, in US dollars."},
	"Health.status":       {says: "ok, or ready."},
}

func codeNames() []string {
	names := make([]string, len(codes))
	for i, c := range codes {
		names[i] = string(c.code)
	}
	return names
}

type codeMeaning struct {
	code fault.Code
	says string
}

// codes are the kinds of failure, in the order of their statuses.
var codes = []codeMeaning{
	{fault.InvalidArgument, "The request is not what the contract says; mend it where field points."},
	{fault.ReceiptInvalid, "A receipt_handle that consume did not give of this queue."},
	{fault.Unauthenticated, "No key, or one that is unknown, revoked or expired."},
	{fault.Forbidden, "The key's scopes are too small."},
	{fault.NotFound, "No such path, or an id that names nothing of the key's project."},
	{fault.QueueNotFound, "No such queue in the key's project."},
	{fault.MessageNotFound, "The message was acked, purged or expired, or never was."},
	{fault.MethodNotAllowed, "A path that takes other methods; Allow names them."},
	{fault.IdempotencyKeyReused, "The key was used for another request."},
	{fault.EventIDReused, "The event_id was used for other content."},
	{fault.QueueExists, "A queue of that name has other settings."},
	{fault.QueueNotEmpty, "A queue with messages is deleted without force."},
	{fault.ClaimChanged, "The claim moved since it was looked at."},
	{fault.Conflict, "The state of what it is about does not allow it."},
	{fault.PayloadTooLarge, "The body has more than 16 MiB, or an event's payload more than 1 MiB."},
	{fault.MessageTooLarge, "A message's payload has more than 262,144 bytes."},
	{fault.UnsupportedMediaType, "A body that does not call itself JSON in UTF-8, or is compressed."},
	{fault.HeadersTooLarge, "Address and headers have more than 32 KiB."},
	{fault.RateLimited, "Too many calls; send it again after Retry-After."},
	{fault.Internal, "A fault of ours; the server's log has it under the request_id."},
	{fault.Unavailable, "The server cannot serve it at the moment; send it again after Retry-After."},
}
