output "urls" {
  description = "Addresses of the functions that are called."
  value       = { for function in local.called : function => local.url[function] }
}

output "nat_address" {
  description = "Where calls of the functions come from; what a Qdrant Cloud cluster lets in."
  value       = module.network.nat_address
}

output "registry_url" {
  description = "Where the images are."
  value       = module.registry.url
}

output "deploy_trigger" {
  description = "Name of the trigger that deploys."
  value       = module.delivery.deploy_trigger
}

output "dead_letters" {
  description = "Channel -> subscription that keeps its dead letters."
  value       = { for channel, subscription in module.messaging.subscriptions : channel => subscription.dead }
}
